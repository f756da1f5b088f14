package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
	"moeca/internal/diff"
	"moeca/internal/session"
)

// TaskID names a task in a path. It is exported because the parameters of an embedded type that is not are ignored.
type TaskID struct {
	ID string `path:"id" maxLength:"64" doc:"id, unique prefix of an id, or number"`
}

type listTasksIn struct {
	Repo   string `query:"repo" maxLength:"200"`
	Status string `query:"status" maxLength:"40"`
	Column string `query:"column" maxLength:"40"`
	Cursor string `query:"cursor" maxLength:"200"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type diffIn struct {
	TaskID
	MaxLines int `query:"max_lines" minimum:"0" maximum:"1000000" doc:"lines shown per file; what is cut is flagged. Left out or 0: as many as an approval takes for seen"`
}

func (s *Server) registerTasks() {
	b := s.deps.Board
	huma.Register(s.api, op(ScopeRead, "list-tasks", http.MethodGet, "/api/tasks", "List tasks, newest first"),
		func(ctx context.Context, in *listTasksIn) (*body[Page], error) {
			page, err := b.Tasks(ctx, board.TaskFilter{
				Repo: in.Repo, Status: board.Status(in.Status), Column: board.Column(in.Column),
				Cursor: in.Cursor, Limit: in.Limit,
			})
			if page.Tasks == nil {
				page.Tasks = []board.Task{}
			}
			return answer(s, Page{Items: page.Tasks, Next: page.Next}, err)
		})
	huma.Register(s.api, op(ScopeWork, "create-task", http.MethodPost, "/api/tasks", "Create a task"),
		func(ctx context.Context, in *struct{ Body board.NewTask }) (*body[board.Task], error) {
			if len(in.Body.Reach) > 0 && !actorOf(ctx).Person {
				return nil, forAPerson("say where an agent may reach")
			}
			create := func() (board.Task, error) { return b.CreateTask(ctx, in.Body) }
			if len(in.Body.Reach) == 0 && in.Body.Budget == nil && in.Body.RunBudget == nil {
				task, err := create()
				return answer(s, task, err)
			}
			task, err := recorded(ctx, s, "task.create", in.Body.Title, means{&in.Body.Reach, in.Body.Budget, in.Body.RunBudget}, create)
			return answer(s, task, err)
		})
	huma.Register(s.api, op(ScopeRead, "get-task", http.MethodGet, "/api/tasks/{id}", "One task"),
		func(ctx context.Context, in *TaskID) (*body[board.Task], error) {
			task, err := b.Task(ctx, in.ID)
			return answer(s, task, err)
		})
	huma.Register(s.api, op(ScopeWork, "update-task", http.MethodPatch, "/api/tasks/{id}", "Change words before it runs; a person also reach and budgets, until it is closed"),
		func(ctx context.Context, in *struct {
			TaskID
			Body board.TaskPatch
		},
		) (*body[board.Task], error) {
			if !in.Body.Means() {
				task, err := b.UpdateTask(ctx, in.ID, in.Body)
				return answer(s, task, err)
			}
			if !actorOf(ctx).Person {
				return nil, forAPerson("change budgets or where an agent may reach")
			}
			task, err := recorded(ctx, s, "task.change", in.ID, means{in.Body.Reach, in.Body.Budget, in.Body.RunBudget}, func() (board.Task, error) {
				return b.UpdateTask(ctx, in.ID, in.Body)
			})
			return answer(s, task, err)
		})
	huma.Register(s.api, op(ScopeWork, "delete-task", http.MethodDelete, "/api/tasks/{id}", "Delete a task and its tree; commits stay under refs/moeca"),
		func(ctx context.Context, in *TaskID) (*struct{}, error) {
			return nil, s.problemOf(b.DeleteTask(ctx, in.ID))
		})
	huma.Register(s.api, op(ScopeWork, "cancel-task", http.MethodPost, "/api/tasks/{id}/cancel", "Cancel a task; what it did is kept"),
		func(ctx context.Context, in *TaskID) (*body[board.Task], error) {
			task, err := b.CancelTask(ctx, in.ID)
			return answer(s, task, err)
		})
	huma.Register(s.api, op(ScopeWork, "run-task", http.MethodPost, "/api/tasks/{id}/run", "Run a task, or run it again as a new attempt"),
		func(ctx context.Context, in *TaskID) (*body[board.Run], error) {
			run, err := b.RunTask(ctx, in.ID)
			return answer(s, run, err)
		})
	huma.Register(s.api, op(ScopeRead, "task-diff", http.MethodGet, "/api/tasks/{id}/diff", "What the newest attempt changes against its merge base"),
		func(ctx context.Context, in *diffIn) (*body[diff.Set], error) {
			set, err := b.Diff(ctx, in.ID, board.DiffOptions{MaxFileLines: in.MaxLines})
			return answer(s, set, err)
		})
}

// means is what a row says about a change of where agents reach and what they may
// draw; a task's words are not for the log.
type means struct {
	Reach     *[]string       `json:"reach,omitempty"`
	Budget    *session.Budget `json:"budget,omitempty"`
	RunBudget *session.Budget `json:"run_budget,omitempty"`
}

// forAPerson refuses a program what an operation that it may use can also do.
func forAPerson(what string) error {
	return &Problem{
		Title: http.StatusText(http.StatusForbidden), Status: http.StatusForbidden, Code: "scope",
		Detail: "this token may not " + what + ": that is a person's", Next: "use the interface, or the command line in a terminal",
	}
}
