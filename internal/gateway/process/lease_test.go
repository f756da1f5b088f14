package process

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The wait for an ask and a long erasure outlast the times of the listener, so
// their handlers lift them; what counts the host's calls must not be in the way.
func TestAHandlerBehindTheLeaseMovesItsDeadlines(t *testing.T) {
	var read, write error
	server := httptest.NewServer(newLease(60).renewedBy(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		read, write = rc.SetReadDeadline(time.Time{}), rc.SetWriteDeadline(time.Time{})
	})))
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if read != nil || write != nil {
		t.Errorf("%v, %v", read, write)
	}
}
