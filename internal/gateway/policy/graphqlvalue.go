package policy

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"moeca/internal/strictjson"
)

// number stands for a value that is neither text, list, object nor null:
// decisions go by names and ids, which are text.
type number string

// arguments resolves the arguments of a field: literals, variables, defaults.
func (g *graphQL) arguments(o *ast.OperationDefinition, f *ast.Field) (map[string]any, error) {
	out := map[string]any{}
	for _, a := range f.Arguments {
		if _, twice := out[a.Name]; twice {
			return nil, unclear("the argument %.64q stands twice", a.Name)
		}
		v, err := g.resolve(o, a.Value)
		if err != nil {
			return nil, err
		}
		out[a.Name] = v
	}
	return out, nil
}

func (g *graphQL) resolve(o *ast.OperationDefinition, v *ast.Value) (any, error) {
	switch v.Kind {
	case ast.Variable:
		return g.variable(o, v.Raw)
	case ast.StringValue, ast.BlockValue, ast.EnumValue:
		return v.Raw, nil
	case ast.NullValue:
		return nil, nil
	case ast.ListValue:
		list := []any{}
		for _, c := range v.Children {
			e, err := g.resolve(o, c.Value)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		return list, nil
	case ast.ObjectValue:
		object := map[string]any{}
		for _, c := range v.Children {
			if _, twice := object[c.Name]; twice {
				return nil, unclear("the field %.64q stands twice", c.Name)
			}
			e, err := g.resolve(o, c.Value)
			if err != nil {
				return nil, err
			}
			object[c.Name] = e
		}
		return object, nil
	}
	return number(v.Raw), nil
}

// variable is the value sent for a declared variable, else its default.
func (g *graphQL) variable(o *ast.OperationDefinition, name string) (any, error) {
	var def *ast.VariableDefinition
	for _, d := range o.VariableDefinitions {
		if d.Variable != name {
			continue
		}
		if def != nil {
			return nil, unclear("the variable %.64q is declared twice", name)
		}
		def = d
	}
	if def == nil {
		return nil, unclear("the variable %.64q is not declared", name)
	}
	if g.variables.IsObject() {
		v, err := g.variables.Field(name)
		if err != nil {
			return nil, unclear("%v", err)
		}
		if v.Exists() {
			return plainJSON(v), nil
		}
	}
	if def.DefaultValue == nil {
		return nil, nil
	}
	return g.resolve(&ast.OperationDefinition{}, def.DefaultValue)
}

func plainJSON(d strictjson.Document) any {
	text, isText := d.Text()
	switch {
	case isText:
		return text
	case d.IsNull():
		return nil
	case d.IsArray():
		list := []any{}
		d.Each(func(_ string, v strictjson.Document) bool { list = append(list, plainJSON(v)); return true })
		return list
	case d.IsObject():
		object := map[string]any{}
		d.Each(func(key string, v strictjson.Document) bool { object[key] = plainJSON(v); return true })
		return object
	}
	return number(d.Raw())
}

// width is how much may be asked for at a place of a selection.
type width int

const (
	wide   width = iota // in the repository: everything
	narrow              // people, neighbouring repositories: what has no selection of its own, and lists of that
	bare                // a parent, which may be an issue as well as a repository: what names it
)

// crosses says whether a selection may lead from its repository to what is not
// in it.
func (g *graphQL) crosses(set ast.SelectionSet, at width, open []string) (bool, error) {
	for _, s := range set {
		if err := g.visit(); err != nil {
			return false, err
		}
		inner, within, opened := ast.SelectionSet(nil), at, open
		switch s := s.(type) {
		case *ast.Field:
			name := strings.ToLower(s.Name)
			selects := len(s.SelectionSet) > 0
			if elsewhere(name) || at > wide && selects && !list(name) || at == bare && !selects && !names(name) {
				return true, nil
			}
			inner, within = s.SelectionSet, max(at, widthOf(name))
		case *ast.InlineFragment:
			if inner, within = s.SelectionSet, max(at, widthOfType(s.TypeCondition)); foreign(s.TypeCondition) {
				return true, nil
			}
		case *ast.FragmentSpread:
			f, under, err := g.spread(s.Name, open)
			if err != nil {
				return false, err
			}
			if inner, within = f.SelectionSet, max(at, widthOfType(f.TypeCondition)); foreign(f.TypeCondition) {
				return true, nil
			}
			opened = under
		}
		if away, err := g.crosses(inner, within, opened); away || err != nil {
			return away, err
		}
	}
	return false, nil
}

// elsewhere are fields that lead to other repositories, in lower case.
func elsewhere(field string) bool {
	switch field {
	case "repositories", "repositoriescontributedto", "starredrepositories", "toprepositories", "watching", "forks", "organization", "organizations",
		"enterprise", "enterprises", "pinneditems", "pinnableitems", "itemshowcase", "gist", "gists", "packages", "project", "projects", "projectv2",
		"projectsv2", "projectitems", "search", "source", "subject", "closingissuesreferences", "trackedissues", "trackedinissues", "subissues",
		"submodules", "contributionscollection", "team", "teams", "relay", "query", "resource", "dependencygraphmanifests", "closer", "canonical", "duplicate", "duplicateof",
		"subissue", "blockedby", "blocking", "blockingissue", "blockedissue", "closedbypullrequestsreferences", "associatedpullrequests", "linkedbranches", "compare":
		return true
	}
	return strings.HasSuffix(field, "repositories")
}

// foreign are the types whose fields lie in another repository under names that
// are innocent elsewhere: the commit of a reference is of the repository it was
// made in.
func foreign(typeName string) bool {
	switch typeName {
	case "ReferencedEvent", "CrossReferencedEvent", "ConnectedEvent", "DisconnectedEvent":
		return true
	}
	return false
}

func widthOf(field string) width {
	switch {
	case field == "parent":
		return bare
	case neighbour(field) || strings.HasSuffix(field, "repository"):
		return narrow
	}
	return wide
}

func widthOfType(typeName string) width {
	if person(typeName) {
		return narrow
	}
	return wide
}

// names are fields by which something is called.
func names(field string) bool {
	switch field {
	case "id", "databaseid", "name", "namewithowner", "login", "number", "url", "__typename", "isprivate", "isfork", "isarchived", "viewerpermission", "hasissuesenabled":
		return true
	}
	return false
}

// neighbour are fields whose value is a person or a repository next to this one.
func neighbour(field string) bool {
	switch field {
	case "repository", "headrepository", "baserepository", "headrepositoryowner", "templaterepository", "owner", "author", "user", "actor",
		"creator", "editor", "mergedby", "enabledby", "assignees", "assignee", "assignedactors", "suggestedactors", "participants", "mentionableusers",
		"assignableusers", "collaborators", "stargazers", "watchers", "reviewer", "suggestedreviewers", "requestedreviewer", "committer", "pusher", "viewer":
		return true
	}
	return false
}

func person(typeName string) bool {
	switch typeName {
	case "User", "Organization", "Bot", "Mannequin", "EnterpriseUserAccount", "Enterprise", "Team", "Actor", "RepositoryOwner", "ProfileOwner":
		return true
	}
	return false
}

// list are fields that only wrap what they list.
func list(field string) bool {
	switch field {
	case "nodes", "edges", "node", "owner", "user", "defaultbranchref", "pageinfo":
		return true
	}
	return false
}
