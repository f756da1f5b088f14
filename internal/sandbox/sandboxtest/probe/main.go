//go:build linux

// Command probe attacks the sandbox it runs in and reports what happened. The
// conformance test builds it statically, puts it into a tree and runs it as the
// command of a stage; it is no part of the product.
//
//	probe facts ARGS-AS-JSON   one JSON object: identity, mounts, attacks
//	probe exit N               ends with code N
//	probe sleep                sleeps until killed
//	probe stubborn             the same, and ignores TERM
//	probe hold FILE            leaves a child in its own session that locks FILE
//	probe fork                 starts children until it cannot
//	probe memory               allocates until it is killed
//	probe flood                writes to standard output until it is killed
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	args := append(os.Args[1:], "", "")
	switch args[0] {
	case "facts":
		facts(args[1])
	case "exit":
		code, _ := strconv.Atoi(args[1])
		os.Exit(code)
	case "sleep":
		forever()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("stubborn")
		forever()
	case "hold":
		hold(args[1])
	case "holder":
		holder(args[1])
	case "fork":
		fork()
	case "memory":
		memory()
	case "flood":
		flood()
	default:
		fmt.Fprintf(os.Stderr, "unknown command %q\n", args[0])
		os.Exit(64)
	}
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func facts(arg string) {
	var q Question
	if err := json.Unmarshal([]byte(arg), &q); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(65)
	}
	if err := json.NewEncoder(os.Stdout).Encode(gather(q)); err != nil {
		os.Exit(66)
	}
}

// hold starts a holder that outlives its parent's session and says when it has
// the lock.
func hold(file string) {
	child := exec.Command("/proc/self/exe", "holder", file)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	fmt.Print(line)
	if line != "held\n" {
		os.Exit(1)
	}
	forever()
}

func holder(file string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	forever()
}

// fork starts sleeping children until the kernel refuses, and reports how many
// there were.
func fork() {
	n := 0
	for n < 10_000 {
		child := exec.Command("/proc/self/exe", "sleep")
		if err := child.Start(); err != nil {
			fmt.Printf("refused after %d: %v\n", n, err)
			return
		}
		n++
	}
	fmt.Printf("never refused: %d\n", n)
}

func memory() {
	var kept [][]byte
	for {
		kept = append(kept, bytes.Repeat([]byte{byte(len(kept) + 1)}, 8<<20))
	}
}

func flood() {
	line := append(bytes.Repeat([]byte("flood "), 200), '\n')
	for {
		if _, err := os.Stdout.Write(line); err != nil {
			return
		}
	}
}
