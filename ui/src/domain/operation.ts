/** Operations the interface has words for, by their name at the gateway. */
const words = {
  'github.read': 'readRepo',
  'github.read-outside': 'readOutside',
  'github.read-across': 'readAcross',
  'github.create-branch': 'createBranch',
  'github.create-pull-request': 'createPull',
  'github.create-pull-request-across': 'createPullAcross',
  'github.comment': 'comment',
  'github.review': 'review',
  'github.edit-pull-request': 'editPull',
  'github.edit-comment': 'editComment',
  'github.request-review': 'requestReview',
  'github.create-issue': 'createIssue',
  'github.edit-issue': 'editIssue',
  'github.label': 'label',
  'github.dispatch': 'dispatch',
  'github.run-workflow': 'runWorkflow',
  'github.update-ref': 'updateRef',
  'github.delete-ref': 'deleteRef',
  'github.create-object': 'createObject',
  'github.commit-contents': 'commitContents',
  'github.write': 'writeRepo',
  'github.write-outside': 'writeOutside',
  'github.graphql.read-across': 'readAcross',
  'github.graphql.addComment': 'commentGraph',
  'github.graphql.createRef': 'createBranchGraph',
  'github.graphql.createPullRequest': 'createPullGraph',
  'git.fetch': 'fetch',
  'git.push': 'push',
} as const

const endings = {
  read: 'read',
  search: 'search',
  write: 'write',
  action: 'action',
  inference: 'inference',
  count: 'count',
} as const

export type OperationWord =
  | (typeof words)[keyof typeof words]
  | (typeof endings)[keyof typeof endings]

/** The key of the words for an operation; null: only its name is known. */
export function operationWord(name: string): OperationWord | null {
  if (Object.hasOwn(words, name)) return words[name as keyof typeof words]
  const ending = name.slice(name.indexOf('.') + 1)
  return Object.hasOwn(endings, ending) ? endings[ending as keyof typeof endings] : null
}

/** What a rule names, in one line: an operation by its name, or a method and a path. */
export function ruleText(rule: { operation: string; method: string; path: string }): string {
  return rule.operation || `${rule.method} ${rule.path}`
}
