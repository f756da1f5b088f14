package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

type providerPolicy struct {
	Name       string    `arg:"" help:"Name of the provider."`
	AllowWrite []string  `help:"Permit a write: the name of an operation, or METHOD:PATH with * for a segment and ** for the rest. Repeat for more." placeholder:"OP"`
	Forbid     []string  `help:"Stop an operation although it is permitted: OP=block, OP=ask or OP=warn. Repeat for more." placeholder:"OP=EFFECT"`
	Allow      []string  `help:"Remove the rules that name an operation, those that permit and those that forbid. Repeat for more." placeholder:"OP"`
	Path       *[]string `help:"Only these paths may be requested; replaces the list, an empty one takes the restriction off." placeholder:"PATTERN"`
	Prefix     *[]string `help:"Branches may be written below these; replaces the list, an empty one is the shipped prefix." placeholder:"PREFIX/"`
	Protect    *[]string `help:"Protect these branches too; replaces the list." placeholder:"BRANCH"`
	Reset      bool      `help:"Take off everything that was added; what the kind ships with stays."`
}

// Run shows the rules of a provider, after it has changed them where asked to.
func (p *providerPolicy) Run(e *env, c *client) error {
	path := "/api/providers/" + url.PathEscape(p.Name) + "/policy"
	var got hostapi.ProviderPolicy
	if err := c.do(e.ctx, "GET", path, nil, &got); err != nil {
		return err
	}
	patch, changes, err := p.patch(got.Policy)
	if err != nil {
		return err
	}
	if changes {
		got = hostapi.ProviderPolicy{} // lists that are empty now are absent from the answer
		if err := c.asPerson(e.ctx, "PATCH", path, patch, &got); err != nil {
			return err
		}
	}
	if e.cli.JSON {
		return e.print(got)
	}
	return showPolicy(e.stdout, got)
}

// patch turns the flags into the lists as they are to be.
func (p *providerPolicy) patch(now gatewayapi.Policy) (patch gatewayapi.PolicyPatch, changes bool, err error) {
	if p.Reset {
		now = gatewayapi.Policy{}
		patch.RepositoryIDs = &map[string]int64{}
	}
	writes, forbidden := slices.Clone(now.Writes), slices.Clone(now.Forbidden)
	for _, name := range p.Allow {
		rule, err := parseRule(name)
		if err != nil {
			return patch, false, err
		}
		before := len(writes) + len(forbidden)
		writes = slices.DeleteFunc(writes, func(r gatewayapi.OperationRule) bool { return r == rule })
		forbidden = slices.DeleteFunc(forbidden, func(r gatewayapi.ForbiddenRule) bool { return r.OperationRule == rule })
		if len(writes)+len(forbidden) == before {
			return patch, false, fail(exitUsage, "no_rule", "see `moeca provider policy "+p.Name+"`", "no rule names %s", name)
		}
	}
	for _, name := range p.AllowWrite {
		rule, err := parseRule(name)
		if err != nil {
			return patch, false, err
		}
		if !slices.Contains(writes, rule) {
			writes = append(writes, rule)
		}
	}
	for _, text := range p.Forbid {
		if forbidden, err = forbid(forbidden, text); err != nil {
			return patch, false, err
		}
	}
	if p.Reset || len(p.Allow)+len(p.AllowWrite) > 0 {
		patch.Writes = list(writes)
	}
	if p.Reset || len(p.Allow)+len(p.Forbid) > 0 {
		patch.Forbidden = list(forbidden)
	}
	changes = p.Reset || len(p.Allow)+len(p.AllowWrite)+len(p.Forbid) > 0
	for to, flag := range map[**[]string]*[]string{&patch.Paths: p.Path, &patch.BranchPrefixes: p.Prefix, &patch.ProtectedRefs: p.Protect} {
		switch {
		case flag != nil:
			*to, changes = list(slices.DeleteFunc(slices.Clone(*flag), func(s string) bool { return s == "" })), true
		case p.Reset:
			*to = list[string](nil)
		}
	}
	return patch, changes, nil
}

// list is a pointer to a list that is never null: null would keep what is set.
func list[T any](l []T) *[]T {
	if l == nil {
		l = []T{}
	}
	return &l
}

// parseRule reads "github.review" or "POST:/rest/api/3/issue/*/comment".
func parseRule(text string) (gatewayapi.OperationRule, error) {
	method, path, byPath := strings.Cut(text, ":")
	switch {
	case text == "":
		return gatewayapi.OperationRule{}, fail(exitUsage, "rule", "name an operation, or write METHOD:PATH", "the rule is empty")
	case byPath:
		return gatewayapi.OperationRule{Method: strings.ToUpper(method), Path: path}, nil
	}
	return gatewayapi.OperationRule{Operation: text}, nil
}

// forbid replaces the effect of a rule, or adds it.
func forbid(rules []gatewayapi.ForbiddenRule, text string) ([]gatewayapi.ForbiddenRule, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return nil, fail(exitUsage, "rule", "write OP=block, OP=ask or OP=warn", "%q names no effect", text)
	}
	rule, err := parseRule(text[:i])
	if err != nil {
		return nil, err
	}
	added := gatewayapi.ForbiddenRule{OperationRule: rule, Effect: text[i+1:]}
	if at := slices.IndexFunc(rules, func(r gatewayapi.ForbiddenRule) bool { return r.OperationRule == rule }); at >= 0 {
		rules[at] = added
		return rules, nil
	}
	return append(rules, added), nil
}

func ruleWords(r gatewayapi.OperationRule) string {
	if r.Operation != "" {
		return r.Operation
	}
	return r.Method + ":" + r.Path
}

// addedRule is what a policy says of one operation, or of one method and path.
type addedRule struct{ what, word string }

// addedRules are those of a policy; what stops an operation counts more than
// what permits it, and both are said.
func addedRules(p gatewayapi.Policy) (all []addedRule) {
	for _, r := range p.Forbidden {
		word := r.Effect
		if slices.Contains(p.Writes, r.OperationRule) {
			word += ", permitted otherwise"
		}
		all = append(all, addedRule{ruleWords(r.OperationRule), word})
	}
	for _, r := range p.Writes {
		if !slices.ContainsFunc(p.Forbidden, func(f gatewayapi.ForbiddenRule) bool { return f.OperationRule == r }) {
			all = append(all, addedRule{ruleWords(r), "permitted"})
		}
	}
	return all
}

// showPolicy prints what is permitted, what is stopped, and what never passes.
func showPolicy(out io.Writer, p hostapi.ProviderPolicy) error {
	w := newTable(out, "OPERATION", "RULE", "FROM")
	added := addedRules(p.Policy)
	for _, o := range p.Shipped.Operations {
		word, from := "needs a rule", "kind "+p.Shipped.Kind
		if o.Permitted {
			word = "permitted"
		}
		if i := slices.IndexFunc(added, func(r addedRule) bool { return r.what == o.Name }); i >= 0 {
			word, from = added[i].word, "added"
			added = slices.Delete(added, i, i+1)
		}
		w.line(o.Name, word, from)
	}
	for _, r := range added {
		w.line(r.what, r.word, "added")
	}
	for _, n := range p.Shipped.Never {
		w.line(n.What, "never: "+n.Why, "kind "+p.Shipped.Kind)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(p.Policy.Paths) > 0 {
		fmt.Fprintln(out, "only paths:", strings.Join(p.Policy.Paths, " "))
	}
	prefixes := p.Policy.BranchPrefixes
	if len(prefixes) == 0 {
		prefixes = p.Shipped.BranchPrefixes
	}
	if len(prefixes) > 0 {
		fmt.Fprintln(out, "branches below:", strings.Join(prefixes, " "))
	}
	if refs := append(slices.Clone(p.Shipped.ProtectedRefs), p.Policy.ProtectedRefs...); len(refs) > 0 {
		fmt.Fprintln(out, "protected branches:", strings.Join(refs, " "), "and the target of the task")
	}
	return nil
}
