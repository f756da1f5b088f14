-- +goose Up
-- Where a branch stood before each of our merges, and which checkout of it was
-- left behind. It outlives the task: the advice how to bring a checkout forward
-- goes back over merges whose tasks may be deleted.
CREATE TABLE landings (
    repo_id  TEXT NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
    target   TEXT NOT NULL,
    before   TEXT NOT NULL,
    after    TEXT NOT NULL,
    worktree TEXT NOT NULL,
    PRIMARY KEY (repo_id, target, after)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO landings
SELECT t.repo_id, json_extract(m.merged, '$.target'), json_extract(m.merged, '$.target_oid'), json_extract(m.merged, '$.commit'), r.path
FROM merges m JOIN tasks t ON t.id = m.task_id JOIN repos r ON r.id = t.repo_id
WHERE m.state IN ('landed', 'done') AND json_extract(m.merged, '$.note') IS NOT NULL;

-- +goose Down
DROP TABLE landings;
