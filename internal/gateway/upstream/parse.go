package upstream

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/netguard"
)

// ErrInvalid is wrapped by every refusal of a definition.
var ErrInvalid = errors.New("upstream: invalid definition")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

const (
	maxName = 64
	minKey  = 8 // shorter keys could not be scrubbed without changing ordinary text
	maxKey  = 8192
)

// CheckName: lower-case letters, digits and inner dashes, so that a name is
// one path segment, one host label and one word in a log.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
		name[0] == '-' || name[len(name)-1] == '-' {
		return invalid("name %.70q: use lower-case letters, digits and dashes", name)
	}
	return nil
}

// checkKey: what can stand in a header and be found again in an answer.
func checkKey(key string) error {
	if key == "" {
		return nil
	}
	if len(key) < minKey || len(key) > maxKey {
		return invalid("key is not between %d and %d bytes long", minKey, maxKey)
	}
	if !isPrintable(key) || strings.Contains(key, " ") {
		return invalid("key holds a character that cannot stand in a header")
	}
	return nil
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isToken: a header name as HTTP allows it.
func isToken(s string) bool {
	return strings.Trim(strings.ToLower(s), "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func checkAuth(a gatewayapi.Auth) error {
	if a.Scheme != gatewayapi.SchemeHeader {
		return checkScheme(a)
	}
	if a.Region != "" || a.Service != "" {
		return invalid("a region and a service belong to the scheme sigv4")
	}
	if a.Header == "" {
		if a.Prefix != "" {
			return invalid("a key prefix needs a header")
		}
		return nil
	}
	if !isToken(a.Header) || !isPrintable(a.Prefix) || len(a.Header)+len(a.Prefix) > 256 {
		return invalid("key header %.70q cannot be a header", a.Header)
	}
	switch strings.ToLower(a.Header) {
	case "host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer",
		"upgrade", "keep-alive", "accept-encoding", "expect", "cookie", "proxy-authorization", "proxy-connection":
		return invalid("header %s cannot carry a key", a.Header)
	}
	return nil
}

// checkScheme: the other schemes fill Authorization themselves.
func checkScheme(a gatewayapi.Auth) error {
	signs := a.Scheme == gatewayapi.SchemeSigV4
	switch {
	case a.Scheme != gatewayapi.SchemeBasic && a.Scheme != gatewayapi.SchemeTrello && !signs:
		return invalid("key scheme %.40q is not known", a.Scheme)
	case a.Header != "" || a.Prefix != "" && a.Scheme != gatewayapi.SchemeBasic || !isPrintable(a.Prefix) || len(a.Prefix) > 256:
		return invalid("the scheme %s takes no header and no prefix of yours", a.Scheme)
	case signs != (a.Region != "" && a.Service != ""):
		return invalid("sigv4, and nothing else, needs a region and a service")
	case strings.Trim(a.Region+a.Service, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(a.Region)+len(a.Service) > 128:
		return invalid("a region and a service are words such as eu-west-1 and s3")
	}
	return nil
}

// checkKeyForm: schemes that use a key in parts need all of them.
func checkKeyForm(a gatewayapi.Auth, key string) error {
	parts := strings.Split(key, ":")
	switch {
	case key == "":
	case a.Scheme == gatewayapi.SchemeTrello && (len(parts) != 2 || parts[0] == "" || parts[1] == ""):
		return invalid("write the key as key:token")
	case a.Scheme == gatewayapi.SchemeSigV4 && (len(parts) < 2 || len(parts) > 3 || parts[0] == "" || len(parts[1]) < minKey):
		return invalid("write the key as id:secret, or id:secret:session-token")
	}
	return nil
}

// parse fills what follows from the configured fields.
func (u *Upstream) parse() error {
	if !slices.Contains(Kinds(), u.Kind) {
		return invalid("kind %.70q is not known; the kinds are %s", u.Kind, strings.Join(Kinds(), ", "))
	}
	if err := checkAuth(u.Auth); err != nil {
		return err
	}
	if err := u.parseBase(); err != nil {
		return err
	}
	if err := u.checkPlace(); err != nil {
		return err
	}
	return u.parseGit()
}

// checkPlace: what belongs to one kind of place only.
func (u *Upstream) checkPlace() error {
	switch {
	case u.Kind == KindFetch && (u.BaseURL != fetchBase || u.Auth.NeedsKey()):
		return invalid("a fetch has no base and no key: list its hosts")
	case u.Kind != KindFetch && len(u.Hosts) > 0:
		return invalid("hosts belong to a fetch")
	case u.Kind == KindRAG && u.Unix == "":
		return invalid("the knowledge index is reached over a Unix socket only")
	case u.Local && (!u.Model() || u.Kind == KindGemini || !u.Exempt):
		return invalid("a local server speaks openai or anthropic and is named by its exact address: a literal loopback or private one and a port")
	case len(u.Hosts) > maxHosts:
		return invalid("a fetch lists at most %d hosts", maxHosts)
	}
	for _, h := range u.Hosts {
		name, _ := strings.CutPrefix(h, "*.")
		if _, ok := fetchTarget(name); !ok || strings.Contains(name, ":") || strings.Count(name, ".") < 1 {
			return invalid("host %.100q: write example.com, or *.example.com for all below it", h)
		}
	}
	return nil
}

const maxHosts = 1000

// fetchTarget is the base of a host that is spelled as a public name.
func fetchTarget(host string) (*url.URL, bool) {
	canonical, literal, err := netguard.CheckHost(host)
	if err != nil || canonical != host || literal.IsValid() {
		return nil, false
	}
	return &url.URL{Scheme: "https", Host: host}, true
}

// parseGit fills Git from GitURL. One key goes to both places, so they must
// belong together: the same host, or api.<host> beside <host>.
func (u *Upstream) parseGit() error {
	u.Git = nil
	if u.GitURL == "" {
		return nil
	}
	if u.Kind != KindGitHub {
		return invalid("a git URL belongs to a github")
	}
	place := Upstream{Name: u.Name, BaseURL: u.GitURL}
	if err := place.parseBase(); err != nil {
		return err
	}
	if git, api := place.Base.Hostname(), u.Base.Hostname(); place.Unix != "" || git != api && api != "api."+git {
		return invalid("the git URL is another place than the base: the key of %s would go to %s", api, git)
	}
	u.Git = place.Base
	return nil
}

// exempt says whether a base is an exemption by its form.
func exempt(base *url.URL) bool {
	_, literal, err := netguard.CheckHost(base.Hostname())
	return err == nil && literal.IsLoopback() && base.Port() != ""
}

// parseBase fills Base, Unix and Exempt from BaseURL.
func (u *Upstream) parseBase() error {
	u.Base, u.Unix, u.Exempt = nil, "", false
	if u.BaseURL == fetchBase {
		u.Base = &url.URL{Scheme: "https", Host: strings.TrimPrefix(fetchBase, "https://")}
		return nil
	}
	if socket, ok := strings.CutPrefix(u.BaseURL, "unix:"); ok {
		if !filepath.IsAbs(socket) || filepath.Clean(socket) != socket || len(socket) > 107 {
			return invalid("base %.120q: write unix: and an absolute path of at most 107 bytes", u.BaseURL)
		}
		u.Base, u.Unix, u.Exempt = &url.URL{Scheme: "http", Host: u.Name + ".unix"}, socket, true
		return nil
	}
	base, err := url.Parse(u.BaseURL)
	if err != nil || base.Host == "" || len(u.BaseURL) > 1024 {
		return invalid("base %.120q is not an absolute URL", u.BaseURL)
	}
	if base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" || base.Opaque != "" {
		return invalid("base URL must not carry a user, a query or a fragment")
	}
	host, literal, exempt, err := baseHost(base, u.Local)
	if err != nil {
		return err
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !exempt) {
		return invalid("base %.120q: use https; http is for a literal loopback address with a port, or a private one that is marked as local", u.BaseURL)
	}
	dir, err := CanonicalPath(strings.TrimSuffix(base.EscapedPath(), "/"))
	if err != nil {
		return invalid("base path: %v", err)
	}
	u.Base, u.Exempt = &url.URL{Scheme: base.Scheme, Host: joinHost(host, literal, base.Port()), Path: dir}, exempt
	return nil
}

func baseHost(base *url.URL, local bool) (host string, literal netip.Addr, exempt bool, err error) {
	if p := base.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != p {
			return "", netip.Addr{}, false, invalid("port %.10q is not a port", p)
		}
	}
	host, literal, err = netguard.CheckHost(base.Hostname())
	if err != nil {
		return "", netip.Addr{}, false, invalid("%v", err)
	}
	exempt = literal.IsValid() && (literal.IsLoopback() || local && netguard.IsPrivate(literal)) && !literal.Is4In6() && base.Port() != ""
	return host, literal, exempt, nil
}

func joinHost(host string, literal netip.Addr, port string) string {
	if literal.Is6() {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return host
}

// DialAddress is the host and port the transport will ask the dialer for.
func DialAddress(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return u.Host + ":443"
	}
	return u.Host + ":80"
}
