package session

import (
	"fmt"
	"slices"
	"strings"
)

// Grants name what a model provider may do on its own side for a session: act,
// fetch, remember. Without a grant a model call is a question with its content
// and an answer, nothing else.
const (
	GrantWebSearch = "web-search"       // searches run by the provider
	GrantWebFetch  = "web-fetch"        // pages fetched by the provider at the model's wish
	GrantURL       = "url-source"       // content named by a URL that the provider fetches
	GrantCode      = "hosted-code"      // code run in the provider's containers
	GrantMCP       = "mcp"              // tool servers called by the provider
	GrantFiles     = "hosted-files"     // files kept at the provider, in bodies and by their endpoints
	GrantState     = "hosted-state"     // answers, conversations, prompts and caches kept at the provider
	GrantBatches   = "batches"          // reading results of batches
	GrantComputer  = "computer"         // the provider's computer tool, whose actions the client runs
	GrantImages    = "image-generation" // images made by a model
	GrantAudio     = "audio"            // sound as input or output
	GrantTools     = "tool-search"      // the provider searches the tools it was given

	GrantBeta  = "beta:"  // with a value of anthropic-beta or openai-beta behind it
	GrantField = "field:" // with the name of a top-level field of a body behind it
)

// Grants lists the grants that are whole words.
func Grants() []string {
	return []string{
		GrantWebSearch, GrantWebFetch, GrantURL, GrantCode, GrantMCP, GrantFiles, GrantState, GrantBatches,
		GrantComputer, GrantImages, GrantAudio, GrantTools,
	}
}

// checkGrants refuses a grant that would open nothing: a misspelled one must
// not look like one that was given.
func checkGrants(grants []string) error {
	for _, g := range grants {
		value, beta := strings.CutPrefix(g, GrantBeta)
		if !beta {
			value, beta = strings.CutPrefix(g, GrantField)
		}
		known := slices.Contains(Grants(), g) || beta && value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.=") == ""
		if !known || len(g) > maxID {
			return fmt.Errorf("%w: there is no grant %.140q; there are %s, and %sNAME or %sNAME", ErrScope, g, strings.Join(Grants(), ", "), GrantBeta, GrantField)
		}
	}
	return nil
}
