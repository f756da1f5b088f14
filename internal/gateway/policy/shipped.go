package policy

import (
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// ShippedBy tells a person what a kind permits by itself and which operations
// it has names for. It describes Parse and decides nothing; a test holds it to
// what Parse says.
func ShippedBy(kind string) gatewayapi.Shipped {
	s := gatewayapi.Shipped{Kind: kind, Never: never(kind), BranchPrefixes: []string{}, ProtectedRefs: []string{}}
	switch kind {
	case upstream.KindGitHub:
		s.Operations = append(gitHubOperations(), gitOperations()...)
	case upstream.KindGit:
		s.Operations = gitOperations()
	case upstream.KindAnthropic, upstream.KindOpenAI, upstream.KindGemini:
		s.Operations = modelOperations(kind)
	default:
		s.Operations = toolOperations(kind)
	}
	if kind == upstream.KindGitHub || kind == upstream.KindGit {
		s.BranchPrefixes, s.ProtectedRefs = []string{DefaultPrefix}, AlwaysProtected()
	}
	for i := range s.Operations {
		if s.Operations[i].Routes == nil {
			s.Operations[i].Routes = []string{}
		}
	}
	return s
}

// modelOperations are the words the write gate uses for calls of a model.
func modelOperations(kind string) []gatewayapi.ShippedOperation {
	var ops []gatewayapi.ShippedOperation
	for _, class := range []upstream.Class{upstream.Read, upstream.Inference, upstream.Count} {
		ops = append(ops, gatewayapi.ShippedOperation{Name: kind + "." + class.String(), Read: class == upstream.Read, Permitted: true})
	}
	return ops
}

func toolOperations(kind string) []gatewayapi.ShippedOperation {
	var ops []gatewayapi.ShippedOperation
	if kind != upstream.KindRAG {
		ops = append(ops, gatewayapi.ShippedOperation{Name: kind + ".read", Read: true, Permitted: true, Routes: []string{"GET /**"}})
	}
	if paths := searches(kind); len(paths) > 0 {
		search := gatewayapi.ShippedOperation{Name: kind + ".search", Read: true, Permitted: true}
		for _, p := range paths {
			search.Routes = append(search.Routes, "POST "+p)
		}
		ops = append(ops, search)
	}
	if kind == upstream.KindRAG || kind == upstream.KindFetch {
		return ops
	}
	return append(ops, gatewayapi.ShippedOperation{Name: kind + ".write"})
}

// never is what Operation.Never refuses, in words.
func never(kind string) []gatewayapi.ShippedNever {
	switch kind {
	case upstream.KindGitHub, upstream.KindGit:
		all := []gatewayapi.ShippedNever{{What: "a push that deletes or forces a branch, and every write of a protected branch", Why: NeverForce}}
		if kind == upstream.KindGit {
			return all
		}
		return append(all,
			gatewayapi.ShippedNever{What: "merging a pull request or a branch", Why: NeverMerge},
			gatewayapi.ShippedNever{What: "approving a pull request, dismissing a review", Why: NeverApprove},
			gatewayapi.ShippedNever{What: "branch protection, rulesets, hooks, keys, collaborators, secrets, deployments, organisations", Why: NeverAdminister},
			gatewayapi.ShippedNever{What: "statuses of commits, checks, attestations", Why: NeverCheck},
			gatewayapi.ShippedNever{What: "releases, which make tags", Why: NeverRelease},
			gatewayapi.ShippedNever{What: "requests that name a repository by number only", Why: NeverUnnamed})
	case upstream.KindFetch:
		return []gatewayapi.ShippedNever{{What: "anything but GET", Why: neverFetch}}
	case upstream.KindTrello:
		return []gatewayapi.ShippedNever{{What: "a write under a key of its own", Why: NeverCredential}}
	case upstream.KindCustom:
		return []gatewayapi.ShippedNever{{What: "a POST that stands for another method", Why: neverReplaced}}
	}
	return []gatewayapi.ShippedNever{}
}

func gitOperations() []gatewayapi.ShippedOperation {
	return []gatewayapi.ShippedOperation{
		{Name: "git.fetch", Read: true, Permitted: true, Routes: []string{"POST /*/*.git/" + uploadPack}},
		{Name: "git.push", Permitted: true, Routes: []string{"POST /*/*.git/" + receivePack}},
	}
}

// gitHubOperations are the named routes of the REST interface and, by name, the
// mutations that have rules of their own.
func gitHubOperations() []gatewayapi.ShippedOperation {
	ops := []gatewayapi.ShippedOperation{
		{Name: "github.read", Read: true, Permitted: true, Routes: []string{"GET /repos/*/*/**"}},
		{Name: "github.read-outside", Read: true},
		{Name: "github.read-across", Read: true, Routes: []string{
			"GET /repos/*/*/issues/*/timeline", "GET /repos/*/*/issues/*/sub_issues", "GET /repos/*/*/issues/*/parent", "GET /repos/*/*/issues/*/dependencies/**",
			"GET /repos/*/*/commits/*/pulls", "GET /repos/*/*/compare/*:*",
		}},
	}
	for _, r := range routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		route := method + " /repos/*/*/" + path
		if i := slices.IndexFunc(ops, func(o gatewayapi.ShippedOperation) bool { return o.Name == r.name }); i >= 0 {
			ops[i].Routes = append(ops[i].Routes, route)
			continue
		}
		ops = append(ops, gatewayapi.ShippedOperation{Name: r.name, Permitted: r.shipped, Routes: []string{route}})
	}
	return append(ops,
		gatewayapi.ShippedOperation{Name: "github.create-pull-request-across", Routes: []string{"POST /repos/*/*/pulls"}},
		gatewayapi.ShippedOperation{Name: "github.write", Routes: []string{"any other write of a repository"}},
		gatewayapi.ShippedOperation{Name: graphQLPrefix + "createRef", Permitted: true, Routes: []string{"POST /graphql"}},
		gatewayapi.ShippedOperation{Name: graphQLPrefix + "createPullRequest", Permitted: true, Routes: []string{"POST /graphql"}},
	)
}
