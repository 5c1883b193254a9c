// Made by `commonplace connect opencode`, removed by `commonplace disconnect opencode`; changes are overwritten.
// Tells Commonplace what happens in a session, and shows the model what it remembers. It never fails a session.
import { spawn, spawnSync } from "node:child_process"

const COMMANDS = {}

const LONGEST_MS = 10_000
const OPENING = "<commonplace-memory>"
const CLOSING = "</commonplace-memory>"

export const Commonplace = async ({ directory }) => {
  const started = new Set()
  const created = new Set()
  const children = new Set()
  const answering = new Map()
  const answers = new Map()

  const payload = (sessionID, fields) => JSON.stringify({ session_id: sessionID, cwd: directory, ...fields })

  // What a hook prints; nothing if it fails or takes too long.
  const hook = (event, sessionID, fields) =>
    new Promise((resolve) => {
      try {
        const child = spawn(COMMANDS[event], { shell: true, cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
        const timer = setTimeout(() => child.kill(), LONGEST_MS)
        const printed = []
        const done = (text) => {
          clearTimeout(timer)
          resolve(text)
        }
        child.stdout.on("data", (chunk) => printed.push(chunk))
        child.on("error", () => done(""))
        child.on("close", () => done(Buffer.concat(printed).toString("utf8").trim()))
        child.stdin.on("error", () => {})
        child.stdin.end(payload(sessionID, fields))
      } catch {
        resolve("")
      }
    })

  // The end of a turn is reported without letting go: `opencode run` exits right after it.
  const ended = (sessionID) => {
    const text = [...(answers.get(sessionID)?.values() ?? [])].join("\n")
    answers.delete(sessionID)
    if (!text || !started.has(sessionID)) return
    try {
      spawnSync(COMMANDS["session.idle"], {
        shell: true,
        cwd: directory,
        input: payload(sessionID, { last_assistant_message: text }),
        stdio: ["pipe", "ignore", "ignore"],
        timeout: LONGEST_MS,
      })
    } catch {}
  }

  return {
    "chat.message": async ({ sessionID }, output) => {
      try {
        if (children.has(sessionID)) return
        const said = output.parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
        const prompt = said.map((part) => part.text).join("\n")
        const shown = []
        if (!started.has(sessionID)) {
          started.add(sessionID)
          const source = created.has(sessionID) ? "startup" : "resume"
          shown.push(await hook("session.created", sessionID, { source }))
        }
        if (prompt) shown.push(await hook("chat.message", sessionID, { prompt }))
        const text = shown.filter(Boolean).join("\n\n")
        const last = output.parts.at(-1)
        if (!text || !last) return
        output.parts.push({
          id: last.id.slice(0, -2) + "zz",
          sessionID,
          messageID: last.messageID,
          type: "text",
          synthetic: true,
          text: `${OPENING}\n${text}\n${CLOSING}`,
        })
      } catch {}
    },
    "tool.execute.after": async ({ tool, sessionID, args }, output) => {
      try {
        if (!started.has(sessionID) || typeof output?.output !== "string") return
        const response = { output: output.output, exit_code: output.metadata?.exit }
        const fields = { tool_name: tool, tool_input: args, tool_response: response }
        const text = await hook("tool.execute.after", sessionID, fields)
        if (text) output.output += `\n\n${OPENING}\n${text}\n${CLOSING}`
      } catch {}
    },
    event: async ({ event }) => {
      try {
        const of = event.properties
        if (event.type === "session.created") {
          created.add(of.info.id)
          if (of.info.parentID) children.add(of.info.id)
        } else if (event.type === "message.updated" && of.info.role === "assistant") {
          // Only the last message of a turn is its answer.
          if (answering.get(of.info.sessionID) !== of.info.id) answers.delete(of.info.sessionID)
          answering.set(of.info.sessionID, of.info.id)
        } else if (event.type === "message.part.updated" && of.part.type === "text") {
          const { sessionID, messageID, id, text } = of.part
          if (answering.get(sessionID) !== messageID) return
          if (!answers.has(sessionID)) answers.set(sessionID, new Map())
          answers.get(sessionID).set(id, text)
        } else if (event.type === "session.idle") {
          ended(of.sessionID)
        }
      } catch {}
    },
    dispose: async () => {
      for (const sessionID of [...answers.keys()]) ended(sessionID)
    },
  }
}
