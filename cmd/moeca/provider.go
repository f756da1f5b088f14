package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"moeca/internal/hostapi"
)

type providerCmd struct {
	List   providerList   `cmd:"" help:"List providers; keys are never shown."`
	Add    providerAdd    `cmd:"" help:"Add or change a provider."`
	SetKey providerSetKey `cmd:"" help:"Set the key of a provider; it is read from the terminal or standard input, never from the command line."`
	Remove providerRemove `cmd:"" help:"Remove a provider and its key."`
	Test   providerTest   `cmd:"" help:"Make one call that costs nothing, and say what is wrong."`
	Models providerModels `cmd:"" help:"Ask a provider for its models."`
	Policy providerPolicy `cmd:"" help:"Show or change what agents may do at a provider."`
	Detect providerDetect `cmd:"" help:"Look for model servers on this machine (Ollama, llama.cpp, vLLM)."`
}

type providerList struct{}

// Run lists providers.
func (providerList) Run(e *env, c *client) error {
	var list []hostapi.Provider
	if err := c.do(e.ctx, "GET", "/api/providers", nil, &list); err != nil {
		return err
	}
	return printTable(e, list, "", []string{"NAME", "KIND", "KEY", "MODELS", "BASE URL"}, func(p hostapi.Provider) []string {
		return []string{p.Name, kindWords(p), keyWords(p), strings.Join(p.Models, " "), p.BaseURL}
	})
}

func kindWords(p hostapi.Provider) string {
	switch {
	case p.Scripted:
		return "scripted model"
	case p.Local && p.Runnable:
		return p.Kind + ", local"
	case p.Local:
		return p.Kind + ", local (clients only)"
	case !p.Runnable:
		return p.Kind + " (clients only)"
	}
	return p.Kind
}

func keyWords(p hostapi.Provider) string {
	switch {
	case p.Scripted:
		return "canary"
	case !p.HasSecret && !p.NeedsKey:
		return "not needed"
	case !p.HasSecret:
		return "none"
	}
	words := "set in " + p.KeptIn
	if p.SetAt != nil {
		words = "set " + p.SetAt.Local().Format(time.DateOnly) + " in " + p.KeptIn
	}
	if p.LastUsed != nil {
		words += ", used " + p.LastUsed.Local().Format(time.DateOnly)
	}
	return words
}

type providerAdd struct {
	Name    string   `arg:"" help:"Name; also its route at the gateway."`
	BaseURL *string  `name:"base-url" help:"Where requests go." placeholder:"URL"`
	Kind    *string  `help:"anthropic, openai, gemini, github, git, jira, trello, notion, fetch, sigv4 or custom."`
	Model   []string `help:"A model it offers; repeat for more."`
	Header  *string  `help:"Header the key is injected into."`
	Prefix  *string  `help:"What stands before the key in that header."`
	Scheme  *string  `help:"basic (the key is user:password), trello (key:token) or sigv4 (id:secret); the default is the key in a header."`
	Region  *string  `help:"Region a signature is for."`
	Service *string  `help:"Service a signature is for."`
	GitURL  *string  `name:"git-url" help:"Where the repositories of a github are fetched and pushed." placeholder:"URL"`
	Host    []string `help:"A host a fetch may read from; *.example.org is all below it; repeat for more."`
	Local   *bool    `negatable:"" help:"A model server of your own, by its exact address: http://127.0.0.1:11434. Only inference, embeddings and its list of models pass."`
}

// Run adds or changes a provider.
func (p *providerAdd) Run(e *env, c *client) error {
	in := hostapi.ProviderInput{
		Kind: p.Kind, BaseURL: p.BaseURL, Header: p.Header, Prefix: p.Prefix,
		Scheme: p.Scheme, Region: p.Region, Service: p.Service, GitURL: p.GitURL, Local: p.Local,
	}
	if len(p.Model) > 0 {
		in.Models = &p.Model
	}
	if len(p.Host) > 0 {
		in.Hosts = &p.Host
	}
	return e.changeProvider(c, "PUT", p.Name, "", in)
}

func (e *env) changeProvider(c *client, method, name, suffix string, in any) error {
	var out hostapi.Provider
	if err := c.asPerson(e.ctx, method, "/api/providers/"+url.PathEscape(name)+suffix, in, &out); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(out)
	}
	fmt.Fprintf(e.stdout, "%s: %s, key %s\n", out.Name, kindWords(out), keyWords(out))
	return nil
}

type providerSetKey struct {
	Name  string `arg:"" help:"Name of the provider."`
	Clear bool   `help:"Remove the key."`
}

// Run reads a key without echo where there is a terminal.
func (p *providerSetKey) Run(e *env) error {
	key := ""
	if !p.Clear {
		var err error
		if key, err = e.readKey(); err != nil {
			return err
		}
		if key == "" {
			return fail(exitUsage, "no_key", "type it, or send it on standard input", "no key was given")
		}
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	return e.changeProvider(c, "PUT", p.Name, "/secret", map[string]string{"value": key})
}

func (e *env) readKey() (string, error) {
	if f, ok := e.stdin.(*os.File); ok && isTerminal(f) {
		fmt.Fprint(e.stderr, "key (not shown): ")
		raw, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(e.stderr)
		return strings.TrimSpace(string(raw)), err
	}
	raw, err := io.ReadAll(io.LimitReader(e.stdin, 16<<10))
	return strings.TrimSpace(string(raw)), err
}

type providerRemove struct {
	Name string `arg:"" help:"Name of the provider."`
}

// Run removes a provider.
func (p *providerRemove) Run(e *env, c *client) error {
	if err := c.asPerson(e.ctx, "DELETE", "/api/providers/"+url.PathEscape(p.Name), nil, nil); err != nil || e.cli.JSON {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "removed %s and its key\n", p.Name)
	return err
}
