package policy

import (
	"net/http"
	"strings"

	"moeca/internal/gateway/upstream"
)

// Services of smart HTTP.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// parseGit reads a request of git's smart HTTP. Fetching reads. A push is
// judged by its command list. Nothing else is known: no pages of the host, no
// dumb protocol, no large-file store.
func parseGit(in Input) ([]Operation, error) {
	path, service := "", ""
	for _, tail := range [...]string{"/info/refs", "/" + uploadPack, "/" + receivePack} {
		if p, ok := strings.CutSuffix(in.Path, tail); ok {
			path, service = p, tail[1:]
		}
	}
	repo := strings.TrimSuffix(strings.TrimPrefix(path, "/"), ".git")
	if service == "" || strings.Count(repo, "/") < 1 || strings.HasSuffix(repo, "/") || strings.HasSuffix(repo, ".git") {
		return nil, unclear("the path is not /<owner>/<name>.git/ and a service of git's smart HTTP")
	}
	op := Operation{Name: "git.fetch", Read: true, Shipped: true, Repo: repo}
	switch {
	case service == "info/refs":
		if !isRead(in.Method) || in.Query != "service="+uploadPack && in.Query != "service="+receivePack {
			return nil, unclear("refs are asked for with GET and ?service=%s or ?service=%s", uploadPack, receivePack)
		}
		return []Operation{op}, nil
	case in.Method != http.MethodPost || in.Query != "" || !hasType(in.Header, "application/x-"+service+"-request"):
		return nil, unclear("a %s request is a POST of its own content type", service)
	case service == uploadPack:
		return []Operation{op}, nil
	}
	return parsePush(in, repo)
}

func hasType(h http.Header, want string) bool {
	types := h.Values("Content-Type")
	return len(types) == 1 && types[0] == want
}

func parsePush(in Input, repo string) ([]Operation, error) {
	if len(in.Header.Values("Content-Encoding")) > 0 {
		return nil, unclear("a push under a content encoding cannot be read")
	}
	push, err := Push(in.Body)
	if err != nil {
		return nil, err
	}
	op := Operation{Name: "git.push", Shipped: true, Repo: repo}
	if len(push.Updates) == 0 { // the probe before a large push
		op.Name, op.Read = "git.push-probe", true
	}
	for _, u := range push.Updates {
		if u.Deletes() {
			op.Never = NeverForce
		}
		op.Refs = append(op.Refs, u.Ref)
	}
	if op.Never == "" {
		op.Forced = forced(push.pack, push.Updates)
	}
	return []Operation{op}, nil
}

// MayBeEncoded says whether the body of a request may stay under a content
// encoding because nothing in it is looked at: git compresses what it asks for
// when it fetches.
func MayBeEncoded(kind, method, path string) bool {
	return kind == upstream.KindGit && method == http.MethodPost && strings.HasSuffix(path, "/"+uploadPack)
}
