// Package agent is what runs as pid 1 inside every sandbox: it waits for one
// work order, carries it out, and tells what happened.
//
// Flow. Harden defends the process, then Run prints "ready", reads the order
// from its input, and either runs a command or the tool loop of a model. The
// last event is "done"; the value Run returns is the exit code of the process
// and so of the stage: 0 for success, the command's own code, 128+n when
// signal n ended it, or one of the Exit constants.
//
// What it defends against. Code in the sandbox has the same uid as pid 1 and
// could otherwise write its memory or its output through /proc and so forge
// events. Harden therefore makes the process undumpable before the first child
// exists, keeps the channel on descriptors that no child inherits, and gives
// children pipes of their own. It does not defend the host: the sandbox does,
// and everything this package says is a claim to the controller.
//
// What children get. The exact environment of the order, an empty input, one
// pipe for both outputs, a process group of their own; and, where the sandbox
// has the sockets, a loopback port per socket (Forwarder). The model's requests
// dial the socket directly and carry no credential: the socket is the identity.
//
// Concurrency. One Run at a time; the events of its goroutines are put in order
// by handoff.Writer.
package agent
