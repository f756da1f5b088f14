-- +goose Up
-- Times are Unix milliseconds. Documents are JSON. Object ids are lower-case hex.

CREATE TABLE repos (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    path       TEXT NOT NULL UNIQUE,
    target     TEXT NOT NULL,
    gate       TEXT,
    branches   TEXT NOT NULL DEFAULT '[]',
    problem    TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tasks (
    id         TEXT PRIMARY KEY,
    number     INTEGER NOT NULL UNIQUE,
    repo_id    TEXT NOT NULL REFERENCES repos (id),
    title      TEXT NOT NULL,
    detail     TEXT NOT NULL,
    base       TEXT NOT NULL,
    target     TEXT NOT NULL,
    template   TEXT NOT NULL,
    provider   TEXT NOT NULL,
    model      TEXT NOT NULL,
    scripted   INTEGER NOT NULL,
    status     TEXT NOT NULL,
    cause      TEXT NOT NULL DEFAULT '',
    next_step  TEXT NOT NULL DEFAULT '',
    files      INTEGER NOT NULL DEFAULT 0,
    added      INTEGER NOT NULL DEFAULT 0,
    deleted    INTEGER NOT NULL DEFAULT 0,
    ci         TEXT NOT NULL DEFAULT 'none',
    tokens     INTEGER NOT NULL DEFAULT 0,
    attempt_id TEXT,
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_by_repo ON tasks (repo_id, number);
CREATE INDEX tasks_by_status ON tasks (status, number);

-- Numbers of tasks are never used twice, even after a task is deleted: they are
-- part of branch names.
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES ('task', 0);

CREATE TABLE attempts (
    id         TEXT PRIMARY KEY,
    task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    branch     TEXT NOT NULL,
    base_oid   TEXT NOT NULL,
    target_oid TEXT NOT NULL,
    head_oid   TEXT NOT NULL DEFAULT '',
    summary    TEXT NOT NULL DEFAULT '',
    skipped    TEXT NOT NULL DEFAULT '[]',
    run_id     TEXT,
    UNIQUE (task_id, number)
) STRICT;

-- state is the fold over the events of the run, kept in step in the same
-- transaction; run_events is the truth.
CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt_id TEXT NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
    status     TEXT NOT NULL,
    plan       TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_status ON runs (status, created_at);
CREATE INDEX runs_by_attempt ON runs (attempt_id);
CREATE INDEX runs_by_task ON runs (task_id);

CREATE TABLE run_events (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_logs (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    stage  TEXT NOT NULL,
    at     INTEGER NOT NULL,
    event  TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
    id          TEXT PRIMARY KEY,
    task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    state       TEXT NOT NULL,
    result_tree TEXT NOT NULL,
    target_oid  TEXT NOT NULL,
    head        TEXT NOT NULL,
    gate_hash   TEXT NOT NULL,
    digest      TEXT NOT NULL DEFAULT '',
    exit_code   INTEGER NOT NULL DEFAULT 0,
    cause       TEXT NOT NULL DEFAULT '',
    changed     TEXT NOT NULL DEFAULT '[]',
    log         TEXT NOT NULL DEFAULT '',
    log_cut     INTEGER NOT NULL DEFAULT 0,
    seq         INTEGER NOT NULL DEFAULT 0,
    started     INTEGER NOT NULL,
    ended       INTEGER
) STRICT;
CREATE INDEX checks_by_task ON checks (task_id, started);

-- A row is written only after its record in the audit log is durable.
CREATE TABLE approvals (
    id         TEXT PRIMARY KEY,
    task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    statement  TEXT NOT NULL,
    signature  BLOB NOT NULL,
    public_key BLOB NOT NULL,
    seq        INTEGER NOT NULL,
    at         INTEGER NOT NULL
) STRICT;
CREATE INDEX approvals_by_task ON approvals (task_id, seq);

-- intended: about to move the target; landed: the target moved, the record is
-- owed; done: recorded; refused: the target had moved first.
CREATE TABLE merges (
    id          TEXT PRIMARY KEY,
    task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    state       TEXT NOT NULL,
    actor       TEXT NOT NULL,
    preview     TEXT NOT NULL,
    merged      TEXT NOT NULL,
    at          INTEGER NOT NULL
) STRICT;
CREATE INDEX merges_by_task ON merges (task_id);
CREATE INDEX merges_by_state ON merges (state);

CREATE TABLE events (
    seq   INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    kind  TEXT NOT NULL,
    id    TEXT NOT NULL,
    data  TEXT NOT NULL,
    at    INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE events;
DROP TABLE merges;
DROP TABLE approvals;
DROP TABLE checks;
DROP TABLE run_logs;
DROP TABLE run_events;
DROP TABLE runs;
DROP TABLE attempts;
DROP TABLE counters;
DROP TABLE tasks;
DROP TABLE repos;
