-- +goose Up
-- What was indexed: a log is known by its first row, its state by its last.
CREATE TABLE log (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL,
    first  BLOB    NOT NULL,
    head   INTEGER NOT NULL,
    hash   BLOB    NOT NULL
) STRICT;

-- Every row of the log, by what rows are asked for. call is the intent an
-- outcome ends, else the row itself.
CREATE TABLE row (
    seq      INTEGER PRIMARY KEY,
    call     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    run      TEXT    NOT NULL,
    stage    TEXT    NOT NULL,
    task     TEXT    NOT NULL,
    session  TEXT    NOT NULL,
    agent    TEXT    NOT NULL,
    upstream TEXT    NOT NULL,
    model    TEXT    NOT NULL,
    status   INTEGER NOT NULL,
    failed   INTEGER NOT NULL
) STRICT;
CREATE INDEX row_task ON row (task, seq);
CREATE INDEX row_run ON row (run, seq);
CREATE INDEX row_kind ON row (kind, seq);

-- An intent with its outcome, or a refusal.
CREATE TABLE call (
    seq         INTEGER PRIMARY KEY,
    outcome     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    duration    INTEGER NOT NULL,
    actor       TEXT    NOT NULL,
    run         TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    task        TEXT    NOT NULL,
    session     TEXT    NOT NULL,
    parent      TEXT    NOT NULL,
    template    TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    upstream    TEXT    NOT NULL,
    class       TEXT    NOT NULL,
    method      TEXT    NOT NULL,
    target      TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    gate        TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    status      INTEGER NOT NULL,
    result      TEXT    NOT NULL,
    count       INTEGER NOT NULL,
    tools       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    searches    INTEGER NOT NULL,
    cost        INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    bytes_out   INTEGER NOT NULL,
    flags       INTEGER NOT NULL
) STRICT;
CREATE INDEX call_task ON call (task, seq);
CREATE INDEX call_run ON call (run, seq);
CREATE INDEX call_stage ON call (stage, seq);
CREATE INDEX call_session ON call (session, seq);
CREATE INDEX call_bad ON call (state, seq) WHERE state > 1;

-- A session's work in a stage: the nodes of the tree.
CREATE TABLE node (
    task     TEXT    NOT NULL,
    run      TEXT    NOT NULL,
    stage    TEXT    NOT NULL,
    session  TEXT    NOT NULL,
    parent   TEXT    NOT NULL,
    template TEXT    NOT NULL,
    agent    TEXT    NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    began    INTEGER NOT NULL,
    ended    INTEGER NOT NULL,
    PRIMARY KEY (task, run, stage, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_run ON node (run);
CREATE INDEX node_stage ON node (stage);
CREATE INDEX node_last ON node (last);

-- Sums of calls by quarter of an hour and everything they are grouped by.
CREATE TABLE total (
    slot        INTEGER NOT NULL,
    task        TEXT    NOT NULL,
    run         TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    session     TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    upstream    TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    calls       INTEGER NOT NULL,
    open        INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    refused     INTEGER NOT NULL,
    unmetered   INTEGER NOT NULL,
    tools       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    searches    INTEGER NOT NULL,
    cost        INTEGER NOT NULL,
    duration    INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    bytes_out   INTEGER NOT NULL,
    PRIMARY KEY (slot, task, run, stage, session, agent, upstream, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX total_task ON total (task);
CREATE INDEX total_run ON total (run);

-- Texts by their call. The third character a search has is its first that the
-- index can help with; what it finds is compared with the text itself.
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'trigram', detail = none);

-- +goose Down
DROP TABLE words;
DROP TABLE total;
DROP TABLE node;
DROP TABLE call;
DROP TABLE row;
DROP TABLE log;
