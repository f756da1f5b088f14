package policy

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"moeca/internal/gateway/upstream"
)

const (
	neverFetch    = "fetch only reads"
	neverReplaced = "the body names another method than the one that was judged"
)

// replacesMethod: where it cannot be told, the word is enough. A body that is
// no form and no JSON replaces none.
func replacesMethod(in Input) bool {
	found, told := bodyNames(in, isMethod)
	if found || told {
		return found
	}
	kind, body := strings.ToLower(strings.Join(in.Header["Content-Type"], " ")), bytes.ToLower(in.Body)
	return (strings.Contains(kind, "json") || strings.Contains(kind, "form")) && (bytes.Contains(body, []byte("method")) || bytes.Contains(body, []byte(`\u`)))
}

// searches are the POSTs that only read, by kind. A leading version segment of
// the path is written as it is.
func searches(kind string) []string {
	switch kind {
	case upstream.KindJira:
		return []string{
			"/rest/api/2/search", "/rest/api/3/search", "/rest/api/latest/search",
			"/rest/api/2/search/jql", "/rest/api/3/search/jql", "/rest/api/latest/search/jql",
		}
	case upstream.KindNotion:
		return []string{
			"/v1/search", "/v1/databases/*/query", "/v1/data_sources/*/query",
			"/search", "/databases/*/query", "/data_sources/*/query", // a base that ends in /v1
		}
	case upstream.KindRAG:
		return []string{"/search"}
	}
	return nil
}

// parseTool reads a request to an upstream that is no repository.
func parseTool(in Input) Operation {
	op := Operation{Name: in.Kind + ".write"}
	switch {
	case in.Kind == upstream.KindFetch && !isRead(in.Method):
		op.Never = neverFetch
	case in.Kind == upstream.KindTrello && !isRead(in.Method) && namesCredential(in):
		op.Never = NeverCredential
	case in.Kind == upstream.KindCustom && in.Method == http.MethodPost && replacesMethod(in):
		op.Never = neverReplaced
	case in.Kind == upstream.KindRAG && in.Method != http.MethodPost:
		op.Name = "rag.other"
	case isRead(in.Method) && namesAction(in):
		op.Name = in.Kind + ".action"
	case isRead(in.Method):
		op.Name, op.Read, op.Shipped = in.Kind+".read", true, true
	case in.Method == http.MethodPost && matchesAny(searches(in.Kind), in.Path):
		op.Name, op.Read, op.Shipped = in.Kind+".search", true, true
	}
	return op
}

// namesAction: interfaces that take "?Action=DeleteUser" change things by GET.
func namesAction(in Input) bool {
	return takesActions(in.Kind) && slices.ContainsFunc(queryNames(in.Query), func(name string) bool {
		switch strings.ToLower(name) {
		case "action", "do", "cmd", "command", "op", "operation":
			return true
		}
		return false
	})
}

// takesActions: any interface might; those we have tables for do not.
func takesActions(kind string) bool {
	switch kind {
	case upstream.KindJira, upstream.KindTrello, upstream.KindNotion, upstream.KindFetch:
		return false
	}
	return true
}
