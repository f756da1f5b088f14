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
// the request does is undone by withholding the answer (DECISIONS 16).
func (c Class) Early() bool { return c == Read || c == Inference || c == Count }

// Classify judges a method and a canonical path below the base. Model
// upstreams know their inference paths and the list of models and nothing
// else: files, batches and administration have no price and no use here.
func (u Upstream) Classify(method, path string) Class {
	read := method == http.MethodGet || method == http.MethodHead
	switch u.Kind {
	case KindAnthropic:
		return classifyModel(method, read, path, anthropicPaths())
	case KindOpenAI:
		if !strings.HasPrefix(path, "/v1/") {
			path = "/v1" + path // a base that ends in /v1 is as common as one that does not
		}
		return classifyModel(method, read, path, openAIPaths())
	case KindGemini:
		return classifyGemini(method, read, path)
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

func classifyModel(method string, read bool, path string, posts map[string]Class) Class {
	if read && isModels(path, "/v1/models") {
		return Read
	}
	if method == http.MethodPost {
		return posts[path]
	}
	return Unknown
}

func classifyGemini(method string, read bool, path string) Class {
	for _, version := range [...]string{"/v1beta", "/v1"} {
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
