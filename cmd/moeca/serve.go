package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type serveCmd struct {
	Listen        string `help:"Loopback address of interface and API; port 0 chooses one." default:"127.0.0.1:8788"`
	GatewayListen string `name:"gateway-listen" help:"Loopback address for clients with a session token." default:"127.0.0.1:8787"`
	ReadyFile     string `name:"ready-file" help:"Write {url, token, pid, …} here, mode 0600, when ready." placeholder:"FILE"`
	NoOpen        bool   `name:"no-open" help:"Do not open a browser."`
}

// Run serves until it is told to stop. It prints one line with the URL.
func (s *serveCmd) Run(e *env) error {
	opts, err := e.options()
	if err != nil {
		return err
	}
	opts.Listen, opts.GatewayListen, opts.ReadyFile = s.Listen, s.GatewayListen, s.ReadyFile
	st, err := stack.Open(e.ctx, opts)
	if err != nil {
		return err
	}
	defer st.Close(context.WithoutCancel(e.ctx))
	url := st.LaunchURL()
	fmt.Fprintf(e.stdout, "moeca is ready (%s sandboxes): %s\n", st.DriverName(), url)
	if !s.NoOpen {
		openBrowser(url)
	}
	return st.Wait(e.ctx)
}

type openCmd struct{}

// Run makes a new launch URL and opens it.
func (openCmd) Run(e *env) error {
	c := e.running()
	if c == nil {
		return fail(exitMissing, "not_running", "start it with `moeca`", "no moeca runs on %s", e.cli.Data)
	}
	var out struct {
		Launch string `json:"launch_token"`
	}
	if err := c.asPerson(e.ctx, "POST", "/api/auth/launch", nil, &out); err != nil {
		return err
	}
	url := c.base + "/#launch=" + out.Launch
	if e.cli.JSON {
		return e.print(map[string]string{"url": url})
	}
	fmt.Fprintln(e.stdout, url)
	openBrowser(url)
	return nil
}

// openBrowser starts the desktop's browser where there is a desktop. The URL
// has been printed already, so a failure costs nothing.
func openBrowser(url string) {
	argv := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		argv[0] = "open"
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

type openAPICmd struct{}

// Run prints the description the UI's client is generated from.
func (openAPICmd) Run(e *env) error {
	doc, err := hostapi.New(hostapi.Deps{Version: "1"}).OpenAPI()
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(doc)
	return err
}
