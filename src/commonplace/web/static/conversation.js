// An address may name an entry that is on another page of the conversation: go there.

const meant = /^#m([0-9a-z-]+)$/i.exec(location.hash);
if (meant && !document.getElementById(location.hash.slice(1)) && !location.search.includes("at=")) {
  location.replace(`${location.pathname}?at=${meant[1]}${location.hash}`);
}
