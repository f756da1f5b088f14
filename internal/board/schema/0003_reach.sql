-- +goose Up
-- What a person set for a task: where its agents may reach beside the model, and
-- the budgets of it and of each of its runs. A budget is NULL while none was ever
-- set; one that was taken off again is kept as no limit, because the gateway
-- keeps a limit until it is told of another.
ALTER TABLE tasks ADD COLUMN reach TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tasks ADD COLUMN budget TEXT;
ALTER TABLE tasks ADD COLUMN run_budget TEXT;
ALTER TABLE tasks ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE tasks DROP COLUMN cost;
ALTER TABLE tasks DROP COLUMN run_budget;
ALTER TABLE tasks DROP COLUMN budget;
ALTER TABLE tasks DROP COLUMN reach;
