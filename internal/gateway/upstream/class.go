package upstream

import (
	"net/http"
	"strings"
)

// Class says what a request does there, as far as the log, the price and the
// write gate must know. The zero value is not known and not let through.
type Class int

// Classes of request.
const (
	Unknown   Class = iota
	Read            // changes nothing: GET, HEAD
	Inference       // a model call, priced
	Count           // a model call that only counts or embeds nothing away: free
	Write           // everything else
)

// String names the class in logs and rows.
func (c Class) String() string {
	return [...]string{"unknown", "read", "inference", "count", "write"}[c]
}

// Early says that the answer may be awaited while the intent is written: what
// the request does is undone by withholding the answer.
func (c Class) Early() bool { return c == Read || c == Inference || c == Count }

// Classify judges a method and a canonical path below the base. Model
// upstreams know their inference paths, the list of models, and what can be
// granted beside them: files, results of batches, stored answers. Everything
// else, administration above all, is not known. A model server of the user's
// own knows inference and its models only.
func (u Upstream) Classify(method, path string) Class {
	read := method == http.MethodGet || method == http.MethodHead
	switch u.Kind {
	case KindAnthropic:
		return u.classifyModel(method, path, anthropicPaths())
	case KindOpenAI:
		if !strings.HasPrefix(path, "/v1/") {
			path = "/v1" + path // a base that ends in /v1 is as common as one that does not
		}
		return u.classifyModel(method, path, openAIPaths())
	case KindGemini:
		return classifyGemini(method, read, path)
	case KindGit:
		return classifyGit(method, read, path)
	case KindRAG:
		if method == http.MethodPost && path == "/search" {
			return Read
		}
		return Unknown
	case KindFetch:
		if read {
			return Read
		}
		return Unknown
	}
	if read {
		return Read
	}
	return Write
}

func anthropicPaths() map[string]Class {
	return map[string]Class{"/v1/messages": Inference, "/v1/messages/count_tokens": Count}
}

func openAIPaths() map[string]Class {
	return map[string]Class{"/v1/chat/completions": Inference, "/v1/responses": Inference, "/v1/embeddings": Inference}
}

func (u Upstream) classifyModel(method, path string, posts map[string]Class) Class {
	read := method == http.MethodGet || method == http.MethodHead
	if read && isModels(path, "/v1/models") {
		return Read
	}
	if class, ok := posts[path]; ok && method == http.MethodPost {
		return class
	}
	if u.Local {
		return Unknown
	}
	return classifyKept(method, read, path)
}

// classifyKept: what a provider keeps. Making a batch has no bound that could
// be reserved and stays unknown.
func classifyKept(method string, read bool, path string) Class {
	file := isModels(path, "/v1/files")
	content := strings.TrimSuffix(path, "/content")
	switch {
	case read && (file || isModels(content, "/v1/files") && content != "/v1/files"):
		return Read
	case method == http.MethodPost && path == "/v1/files", method == http.MethodDelete && file && path != "/v1/files":
		return Write
	case !read:
		return Unknown
	case isModels(path, "/v1/batches"), isModels(strings.TrimSuffix(path, "/results"), "/v1/messages/batches"):
		return Read
	case isModels(path, "/v1/responses") && path != "/v1/responses":
		return Read
	}
	return Unknown
}

// classifyGit: what it fetches over POST it only reads.
func classifyGit(method string, read bool, path string) Class {
	switch {
	case read && strings.HasSuffix(path, "/info/refs"):
		return Read
	case method != http.MethodPost:
	case strings.HasSuffix(path, "/git-upload-pack"):
		return Read
	case strings.HasSuffix(path, "/git-receive-pack"):
		return Write
	}
	return Unknown
}

func classifyGemini(method string, read bool, path string) Class {
	for _, version := range [...]string{"/v1beta", "/v1"} {
		if file := isModels(path, version+"/files"); file && read {
			return Read
		} else if file && method == http.MethodDelete && path != version+"/files" {
			return Write
		}
		models := version + "/models"
		if !isModels(path, models) {
			continue
		}
		_, verb, called := strings.Cut(path, ":")
		switch {
		case read && !called:
			return Read
		case method != http.MethodPost:
		case verb == "generateContent" || verb == "streamGenerateContent" || verb == "embedContent":
			return Inference
		case verb == "countTokens":
			return Count
		}
	}
	return Unknown
}

// isModels: the list itself or exactly one entry of it.
func isModels(path, list string) bool {
	rest, ok := strings.CutPrefix(path, list)
	if !ok || rest == "" {
		return ok
	}
	return rest[0] == '/' && len(rest) > 1 && !strings.Contains(rest[1:], "/")
}
