package admin

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"moeca/internal/audit"
)

// fullLog refuses a row and lives on, as the audit log does.
type fullLog struct{ memoryLog }

func (*fullLog) Err() error { return nil }

// An approval that cannot be written now is not one that is wrong.
func TestARowThatTheLogHasNoRoomForIsNotABadRow(t *testing.T) {
	log := &fullLog{}
	h, err := NewAppend(log, []Credential{{Name: "host", Source: audit.SourceHost, Kinds: []audit.Kind{audit.KindApproval}, Hash: sha256.Sum256([]byte("tok"))}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		down   error
		status int
		says   string
	}{
		"a full disk":     {fmt.Errorf("audit: queue approval: %w", audit.ErrFull), http.StatusServiceUnavailable, "free disk space; requests are taken again by themselves"},
		"a slow disk":     {fmt.Errorf("audit: queue approval: %w", audit.ErrBacklog), http.StatusServiceUnavailable, "the disk is too slow"},
		"a row too large": {errors.New("audit: queue approval: row of 70000 bytes"), http.StatusBadRequest, "row of 70000 bytes"},
	} {
		log.down = c.down
		r := httptest.NewRequest("POST", "/v1/append", strings.NewReader(`{"kind":"approval","actor":"person"}`))
		r.Header.Set("Authorization", "Bearer tok")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
