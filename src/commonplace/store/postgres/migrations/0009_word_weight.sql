-- additive
-- How much a word weighs in a row, as before, but without decimal numbers on the way: they took most of the time.

DO $$ BEGIN
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION word_weight(vector tsvector, word tsquery) RETURNS double precision'
        ' LANGUAGE sql IMMUTABLE AS $f$'
        ' SELECT width_bucket(ts_rank(''{1,1,1,1}'', vector, word)::double precision, %L) * 0.5::double precision $f$',
        (SELECT array_agg(least_rank ORDER BY n) FROM (
            SELECT n, (sum(1.0 / (n * n)) OVER (ORDER BY n) - 0.5 / (n * n)) / 1.64493406685 AS least_rank
              FROM generate_series(1.0, 255.0) n) ranks)::double precision[]);
END $$;
