package admin

import (
	"net/http"
	"path/filepath"

	"moeca/internal/gateway/gatewayapi"
)

// Broken is a log that is broken, and how the one that follows it is made.
type Broken interface {
	State() gatewayapi.BrokenLog
	// Prepare makes the log that follows. Its first row is the record of the
	// decision, since the broken log takes no more rows.
	Prepare(kept string) (gatewayapi.RestartPrepared, error)
}

func (s *server) prepareRestart(w http.ResponseWriter, r *http.Request) {
	var req gatewayapi.RestartPrepare
	if !s.answers.read(w, r, &req) {
		return
	}
	if s.o.Broken == nil {
		s.answers.refuse(w, r, http.StatusConflict, "log-intact", "the log is not broken; there is nothing to decide")
		return
	}
	if at := s.o.Broken.State(); req.Row != at.Row || req.File != at.File {
		s.answers.refuse(w, r, http.StatusConflict, "log-broken-elsewhere", "the log is broken at another place than the one that was shown; look again")
		return
	}
	if !filepath.IsLocal(req.Kept) || filepath.Base(req.Kept) != req.Kept || req.Kept == "." {
		s.answers.refuse(w, r, http.StatusBadRequest, "kept", "kept is the name of a directory beside that of the log")
		return
	}
	s.change.Lock()
	defer s.change.Unlock()
	out, err := s.o.Broken.Prepare(req.Kept)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answers.send(w, http.StatusOK, out)
}
