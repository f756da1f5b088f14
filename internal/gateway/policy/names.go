package policy

import (
	"regexp"
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// CheckNames refuses a change that brings in a rule for an operation no request
// to the kind can be: such a rule is never looked at, so a word that was mistyped
// would forbid nothing and say nothing. A rule that stands already may be kept.
func CheckNames(kind string, before gatewayapi.Policy, patch gatewayapi.PolicyPatch) error {
	var all, known []gatewayapi.OperationRule
	if patch.Writes != nil {
		all = append(all, *patch.Writes...)
	}
	if patch.Forbidden != nil {
		for _, f := range *patch.Forbidden {
			all = append(all, f.OperationRule)
		}
	}
	known = append(known, before.Writes...)
	for _, f := range before.Forbidden {
		known = append(known, f.OperationRule)
	}
	for _, r := range all {
		if r.Operation != "" && !hasName(kind, r.Operation) && !slices.Contains(known, r) {
			return invalid("no request to a provider of kind %s is the operation %.80q, so the rule would do nothing; its operations are %s",
				kind, r.Operation, strings.Join(shownNames(kind), ", "))
		}
	}
	return nil
}

// hasName says whether Parse, or the write gate for a model, can give a request
// of this kind the name. GraphQL names its operations itself.
func hasName(kind, name string) bool {
	if slices.Contains(shownNames(kind), name) {
		return true
	}
	switch kind {
	case upstream.KindGitHub:
		field, is := strings.CutPrefix(name, graphQLPrefix)
		return is && graphQLName.MatchString(field) || is && field == "read-across" || name == "github.by-id" || name == "github.write-outside"
	case upstream.KindGit:
		return false
	case upstream.KindAnthropic, upstream.KindOpenAI, upstream.KindGemini:
		return name == kind+"."+upstream.Write.String() || name == kind+"."+upstream.Unknown.String()
	case upstream.KindRAG:
		return name == "rag.other" || name == "rag.write"
	case upstream.KindFetch:
		return name == "fetch.write"
	}
	return name == kind+".action" && takesActions(kind)
}

var graphQLName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func shownNames(kind string) []string {
	var names []string
	for _, op := range ShippedBy(kind).Operations {
		names = append(names, op.Name)
	}
	return names
}
