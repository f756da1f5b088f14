// Package gatewayapi is what the host and the gateway say to each other: the
// wire types of the admin listener and of the append listener, and one client
// for each.
//
// Admin listener (Unix socket, bearer token; no sandbox side has a path to it):
//
//	GET    /v1/health                       Health
//	POST   /v1/sessions                     MintRequest → MintResponse
//	GET    /v1/sessions                     []SessionState
//	DELETE /v1/sessions/{id}                Revoked
//	GET    /v1/providers                    []Provider
//	PUT    /v1/providers/{name}             ProviderPatch → Provider
//	PATCH  /v1/providers/{name}             ProviderPatch → Provider
//	DELETE /v1/providers/{name}             204
//	PUT    /v1/providers/{name}/secret      SecretPut → 204
//	GET    /v1/providers/{name}/models      Models
//	POST   /v1/providers/{name}/test        TestResult
//	GET    /v1/providers/{name}/repository  Repository
//	GET    /v1/policies                     Policy of each upstream
//	GET    /v1/policies/{name}              Policy
//	PATCH  /v1/policies/{name}              PolicyPatch → Policy
//	GET    /v1/policies/{name}/shipped      Shipped
//	GET    /v1/asks                         Asks, when they change
//	POST   /v1/asks/{id}                    AskAnswer → AskAnswered
//	GET    /v1/budgets                      []BudgetState
//	PUT    /v1/budgets                      BudgetPut → []BudgetState
//	GET    /v1/prices                       Prices
//	PATCH  /v1/prices                       PricePatch → Prices
//	GET    /v1/retention                    Retention
//	PUT    /v1/retention                    Retention → Retention
//	GET    /v1/checkpoint                   Checkpoint
//	POST   /v1/erase                        EraseRequest → Erased
//	POST   /v1/witness                      WitnessAsk → Witnessed
//	POST   /v1/log/next                     RestartPrepare → RestartPrepared
//
// Append listener (another Unix socket, other credentials):
//
//	POST   /v1/append                       AppendRequest → AppendResponse
//
// Every change is a durable row of the audit log before it takes effect, and
// an answer to a change means that the row is on disk. No answer of either
// listener carries a key or a token, except MintResponse, once. A refusal is
// Error with a status; the clients return it as *StatusError.
//
// The package holds no policy and imports only the session types.
package gatewayapi
