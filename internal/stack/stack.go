// Package stack brings the host's services up and down: it owns the data
// directory, the short runtime directory for sockets, the gateway, the
// scripted model, and the choice of sandbox driver.
//
// Data directory (one process at a time, held by a lock):
//
//	format.json    version of the layout and the id of this directory
//	host.db        board, runs, events
//	audit/         log segments, written only by the gateway
//	audit.head     furthest head of the log this host has seen
//	witness.json   who else saw it, and what each saw last (package witness)
//	audit.swept    up to when contents were erased by the retention
//	audit-broken-… a log that was broken, kept whole by a person (brokenlog.go);
//	               audit-next is the one that follows, on its way to audit/
//	cache/         what can be made again: the index of the log, file times of trees
//	trees/         one plain tree per attempt; trash/ beside it
//	git/           our clean git directory per repository
//	images/        root file systems by digest
//	providers.json definitions of upstreams, never a key
//	secrets/       the encrypted key file, where there is no keychain
//	host.key       Ed25519 key that signs approvals
//	run/           endpoints.json, person.token: rewritten at every start
//	logs/          logs of the services
//
// Runtime directory, because a socket path must stay under 108 bytes:
//
//	g/  admin.sock, append.sock, config of the gateway
//	m/  the scripted model's socket and its canary key; sockets that carry a
//	    gateway in a container to model servers on loopback
//	s/  one directory per sandbox, holding only that sandbox's sockets
//
// The order of start is the order of dependence: data directory, scripted
// model, gateway, driver, board, recovery. Close goes the other way. A service
// that dies is started again; when the gateway comes back with another boot
// id, its sessions are gone and running sandboxes are stopped with that cause.
package stack
