package stack

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"moeca/internal/hostapi"
	"moeca/internal/netguard"
)

func merge(def definition, in hostapi.ProviderInput) definition {
	set := func(to *string, from *string) {
		if from != nil {
			*to = strings.TrimRight(*from, "\r\n\t")
		}
	}
	set(&def.Kind, in.Kind)
	set(&def.BaseURL, in.BaseURL)
	set(&def.Header, in.Header)
	set(&def.Prefix, in.Prefix)
	set(&def.Scheme, in.Scheme)
	set(&def.Region, in.Region)
	set(&def.Service, in.Service)
	set(&def.GitURL, in.GitURL)
	if in.Local != nil {
		def.Local = *in.Local
	}
	if in.BaseURL != nil && in.GitURL == nil {
		def.GitURL = "" // it belonged to the old place
	}
	if in.Models != nil {
		def.Models = slices.Clone(*in.Models)
	}
	if in.Hosts != nil {
		def.Hosts = slices.Clone(*in.Hosts)
	}
	return def
}

// withoutOld drops, after a change of kind, what belonged to the old one.
func (d definition) withoutOld(in hostapi.ProviderInput) definition {
	if in.Header == nil && in.Scheme == nil {
		d.Scheme, d.Header, d.Prefix, d.Region, d.Service = "", "", "", "", ""
	}
	if in.GitURL == nil {
		d.GitURL = ""
	}
	if in.Hosts == nil {
		d.Hosts = nil
	}
	if in.Local == nil {
		d.Local = false
	}
	return d
}

// ownBase are the kinds whose place is known; the gateway fills it in.
var ownBase = []string{"anthropic", "openai", "gemini", "github", "git", "trello", "notion", "fetch"}

// kindSigV4 is the kind, and the scheme it has no use without.
const kindSigV4 = "sigv4"

// check completes a definition and refuses what cannot work. The gateway judges
// it again and in full.
func check(def *definition) error {
	if def.Kind == "" {
		def.Kind = "custom"
	}
	if def.Local {
		return checkLocal(def)
	}
	if def.Header == "" && def.Scheme == "" {
		switch def.Kind {
		case "anthropic":
			def.Header = "x-api-key"
		case "gemini":
			def.Header = "x-goog-api-key"
		case "openai", "custom":
			def.Header, def.Prefix = "Authorization", "Bearer "
		case kindSigV4:
			def.Scheme = kindSigV4
		}
	}
	if def.Scheme == kindSigV4 && (def.Region == "" || def.Service == "") {
		return invalid("region", "a signature is for one region and one service", "add them, such as us-east-1 and bedrock; the key is id:secret")
	}
	if def.BaseURL == "" && slices.Contains(ownBase, def.Kind) {
		return nil
	}
	u, err := url.Parse(def.BaseURL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return invalid("base_url", "the base URL must look like https://host/path, without a user, query or fragment", "correct the base URL")
	}
	if u.Scheme == "http" && slices.Contains([]string{"anthropic", "openai", "gemini"}, def.Kind) {
		return invalid("base_url", "plain http is for a model server of your own only", "use https, or mark it as local and name its exact address, such as http://127.0.0.1:11434")
	}
	return nil
}

// checkLocal: the opt-in names one address, so no name and no range.
func checkLocal(def *definition) error {
	u, err := url.Parse(def.BaseURL)
	if err == nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(u.Host)
		if err == nil && (!at.Addr().IsLoopback() && !netguard.IsPrivate(at.Addr()) || at.Addr().Is4In6() || u.Scheme != "http" && u.Scheme != "https" ||
			u.Path != "" && u.Path != "/v1" || u.RawQuery != "" || u.Fragment != "") {
			err = errors.New("not an exact private address")
		}
	}
	if err != nil {
		return invalid("base_url", "a local model server is named by its exact address: http://, a literal loopback or private address, and a port", "write for example http://127.0.0.1:11434")
	}
	if def.Kind != "openai" && def.Kind != "anthropic" {
		return invalid("kind", "a local model server is of kind openai or anthropic", "choose the dialect it speaks")
	}
	return nil
}
