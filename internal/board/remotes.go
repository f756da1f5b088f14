package board

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/run"
	"moeca/internal/workflow"
)

// A session that reaches a provider with repositories is given those that the
// task's own repository has as remotes there, and no other: where an agent may
// write follows from where the person's work is kept.

// grantRepositories fills in which repositories a run's agents may use.
// Without a provider of repositories in the plan there is nothing to ask.
func (s *Service) grantRepositories(ctx context.Context, job *run.Job) error {
	names := reachedBy(job.Plan)
	if len(names) == 0 {
		return nil
	}
	all, err := s.providers(ctx)
	if err != nil {
		return err
	}
	var hosts []gatewayapi.Provider
	for _, p := range all {
		if slices.Contains(names, p.Name) && (p.Kind == "github" || p.Kind == "git") {
			hosts = append(hosts, p)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	remotes, err := s.remotesOf(ctx, job.Task)
	if err != nil {
		return err
	}
	for _, p := range hosts {
		for _, r := range remotes {
			if repo := repositoryAt(p, r); repo != "" && !slices.Contains(job.Repos, repo) {
				job.Repos = append(job.Repos, repo)
			}
		}
	}
	s.identify(ctx, job, hosts)
	if len(job.Repos) == 0 {
		s.Logger.Warn("the run reaches a provider with repositories, and its repository has no remote there", slog.String("task", job.Task))
	}
	return nil
}

// identifyTime bounds the questions for ids before a run.
const identifyTime = 15 * time.Second

// identify asks GitHub for the ids of the repositories, by which GraphQL names
// them, and for their names as it spells them. Without an answer the session has
// none, and changes by GraphQL are refused. Ids of two places could be the same
// number, so they are asked for where there is one place.
func (s *Service) identify(ctx context.Context, job *run.Job, hosts []gatewayapi.Provider) {
	if len(hosts) != 1 || hosts[0].Kind != "github" || !hosts[0].Secret.HasSecret {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	for _, name := range slices.Clone(job.Repos) {
		repo, err := s.Providers.Repository(ctx, hosts[0].Name, name)
		if err != nil {
			s.Logger.Warn("repository not identified; changes by GraphQL will be refused", slog.String("run", job.Run), slog.String("repository", name), slog.Any("error", err))
			continue
		}
		if !slices.Contains(job.Repos, repo.FullName) {
			job.Repos = append(job.Repos, repo.FullName)
		}
		if job.RepoIDs == nil {
			job.RepoIDs = map[string]int64{}
		}
		job.RepoIDs[repo.FullName] = repo.ID
	}
}

func (s *Service) remotesOf(ctx context.Context, task string) ([]string, error) {
	t, err := s.Task(ctx, task)
	if err != nil {
		return nil, err
	}
	repo, err := s.Repo(ctx, t.RepoID)
	if err != nil {
		return nil, err
	}
	src, err := s.Repos.Open(ctx, repo.Path)
	if err != nil {
		return nil, err
	}
	return src.Remotes(ctx)
}

// reachedBy are the upstreams beside their models that agents of a plan reach.
func reachedBy(p workflow.Plan) (names []string) {
	for _, st := range p.Stages {
		if st.Agent != nil {
			names = append(names, st.Agent.Upstreams...)
		}
	}
	return names
}

// repositoryAt is "owner/name" of a remote that lies at the provider, else "".
func repositoryAt(p gatewayapi.Provider, remote string) string {
	place := p.GitURL
	if place == "" {
		place = p.BaseURL
	}
	base, err := url.Parse(place)
	if err != nil || base.Hostname() == "" {
		return ""
	}
	host, path := splitRemote(remote)
	if !sameHost(host, base.Hostname()) {
		return ""
	}
	if below := strings.Trim(base.Path, "/"); below != "" && p.Kind == "git" {
		rest, ok := strings.CutPrefix(path, below+"/")
		if !ok {
			return ""
		}
		path = rest
	}
	owner, name, ok := strings.Cut(path, "/")
	if !ok || !plainSegment(owner) || !plainSegment(name) {
		return ""
	}
	return owner + "/" + name
}

// splitRemote reads the spellings git takes: a URL, or host:path as scp writes
// it. What has neither is a path of this machine, which lies at no provider.
func splitRemote(remote string) (host, path string) {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || !slices.Contains([]string{"https", "http", "ssh", "git+ssh", "ssh+git", "git"}, u.Scheme) {
			return "", ""
		}
		host, path = u.Hostname(), u.Path
	} else {
		before, after, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(before, "/") {
			return "", ""
		}
		host, path = before[strings.LastIndexByte(before, '@')+1:], after
	}
	return host, strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

// sameHost: GitHub's second door for ssh leads to the same repositories.
func sameHost(host, want string) bool {
	host, want = strings.ToLower(host), strings.ToLower(want)
	return host != "" && (host == want || host == "ssh."+want)
}

// plainSegment: what an owner or a repository can be called.
func plainSegment(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 100 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}
