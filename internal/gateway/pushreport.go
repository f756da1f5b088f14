package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
)

// git throws away the body of an answer that is no success, so a refused push
// would say "403" and nothing else. Where a push can be read and asks for a
// report, it gets the one a repository's own hook would make it send: each ref
// "ng", with our words. The row says what it is, a denial.

const (
	receivePackResult = "application/x-git-receive-pack-result"
	maxReported       = 900 // bytes of a reason; a side-band packet of any client holds it
)

// pushReport is the refusal of a push in git's own terms, if it can be told
// in them.
func (x *exchange) pushReport(d gate.Decision) ([]byte, bool) {
	if x.kind() != upstream.KindGit || x.r.Method != http.MethodPost || !strings.HasSuffix(x.r.URL.Path, "/git-receive-pack") {
		return nil, false
	}
	return reportOf(x.req.Body, sentence(d))
}

func reportOf(body []byte, reason string) ([]byte, bool) {
	push, err := policy.Push(body)
	if err != nil || len(push.Updates) == 0 {
		return nil, false
	}
	asked := func(name string) bool { return slices.Contains(push.Capabilities, name) }
	if !asked("report-status") && !asked("report-status-v2") {
		return nil, false
	}
	reason = strings.Map(oneLine, reason)
	reason = reason[:min(len(reason), maxReported)]
	packets := []string{packet("unpack ok\n")} // read, and nothing of it applied
	for _, u := range push.Updates {
		packets = append(packets, packet("ng "+u.Ref+" "+reason+"\n"))
	}
	packets = append(packets, "0000")
	if !asked("side-band-64k") {
		return []byte(strings.Join(packets, "")), true
	}
	var report strings.Builder
	for _, p := range packets {
		report.WriteString(packet("\x01" + p))
	}
	report.WriteString("0000")
	return []byte(report.String()), true
}

func oneLine(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// packet is one pkt-line.
func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
