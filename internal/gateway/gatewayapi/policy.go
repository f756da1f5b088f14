package gatewayapi

// Policy is what a user added to what the kind of an upstream permits. The
// zero value adds nothing: reads and the shipped writes of the kind.
type Policy struct {
	// Writes are operations permitted beside the shipped ones.
	Writes []OperationRule `json:"writes,omitempty"`
	// Paths, if any, are the only paths that may be requested.
	Paths []string `json:"paths,omitempty"`
	// Forbidden are operations that are stopped although they are permitted.
	Forbidden []ForbiddenRule `json:"forbidden,omitempty"`
	// BranchPrefixes are where agents may write branches, each with a slash at
	// its end; empty: "moeca/".
	BranchPrefixes []string `json:"branch_prefixes,omitempty"`
	// ProtectedRefs are protected beside main, master, develop and the target
	// of the task.
	ProtectedRefs []string `json:"protected_refs,omitempty"`
	// RepositoryIDs are the numeric ids of repositories by "owner/name", as
	// GitHub's REST interface tells them. GraphQL mutations name repositories by
	// id only and are refused for those not listed.
	RepositoryIDs map[string]int64 `json:"repository_ids,omitempty"`
}

// OperationRule names operations: one by its name, or all with a method and a
// path. In a path, * stands for one segment and ** at the end for the rest.
type OperationRule struct {
	Operation string `json:"operation,omitempty"`
	Method    string `json:"method,omitempty"`
	Path      string `json:"path,omitempty"`
}

// Effects of a forbidden operation.
const (
	EffectBlock = "block" // refused
	EffectAsk   = "ask"   // held until a person answers; refused where nobody is there to do so
	EffectWarn  = "warn"  // passes, and its row carries a warning
)

// ForbiddenRule is an operation and what happens to it.
type ForbiddenRule struct {
	OperationRule
	Effect string `json:"effect"`
}

// PolicyPatch is the body of PATCH /v1/policies/{upstream}: absent fields keep
// their value.
type PolicyPatch struct {
	Writes         *[]OperationRule  `json:"writes,omitempty"`
	Paths          *[]string         `json:"paths,omitempty"`
	Forbidden      *[]ForbiddenRule  `json:"forbidden,omitempty"`
	BranchPrefixes *[]string         `json:"branch_prefixes,omitempty"`
	ProtectedRefs  *[]string         `json:"protected_refs,omitempty"`
	RepositoryIDs  *map[string]int64 `json:"repository_ids,omitempty"`
}
