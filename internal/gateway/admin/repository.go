package admin

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/strictjson"
)

// repository asks a GitHub upstream which id a repository has.
func (s *server) repository(w http.ResponseWriter, r *http.Request) {
	u, ok := s.known(w, r)
	if !ok {
		return
	}
	name := r.URL.Query().Get("name")
	switch {
	case u.Kind != upstream.KindGitHub:
		s.answers.refuse(w, r, http.StatusBadRequest, "no-repositories", u.Name+" is no upstream of kind github")
		return
	case !fullName.MatchString(name):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-name", "name a repository as owner/name")
		return
	}
	answer, result, ok := s.call(w, r, u, "provider.repository", "/repos/"+name, name)
	switch {
	case !ok:
		return
	case answer.Status/100 == 3:
		s.answers.refuse(w, r, http.StatusNotFound, "moved-repository", name+" was renamed or moved; use its present name")
		return
	case answer.Status == http.StatusNotFound:
		s.answers.refuse(w, r, http.StatusNotFound, "unknown-repository", u.Name+" has no repository of that name, or its key may not see it")
		return
	case !result.OK:
		s.answers.refuse(w, r, http.StatusBadGateway, result.Class, result.Message)
		return
	}
	repo, err := readRepository(answer.Body)
	if err == nil && !strings.EqualFold(repo.FullName, name) {
		err = errors.New("it is another one")
	}
	if err != nil {
		s.answers.refuse(w, r, http.StatusBadGateway, "unclear-answer", u.Name+" described the repository in a way that cannot be relied on: "+err.Error())
		return
	}
	s.answers.send(w, http.StatusOK, repo)
}

// fullName: two segments that are no dot segment and need no escape.
var fullName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}/([A-Za-z0-9_-][A-Za-z0-9._-]{0,99}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,98})$`)

// readRepository takes what is there once and of its type. An id that is wrong
// would open another repository to mutations.
func readRepository(body []byte) (gatewayapi.Repository, error) {
	doc, err := strictjson.Read(body, strictjson.Object)
	if err != nil {
		return gatewayapi.Repository{}, err
	}
	var out gatewayapi.Repository
	id, err := doc.Field("id")
	if err != nil {
		return out, err
	}
	if out.ID, err = strconv.ParseInt(id.Raw(), 10, 64); err != nil || out.ID <= 0 {
		return out, errors.New("id is no whole number")
	}
	if out.FullName, err = doc.String("full_name"); err == nil {
		out.DefaultBranch, err = doc.String("default_branch")
	}
	switch {
	case err != nil:
		return out, err
	case !fullName.MatchString(out.FullName):
		return out, errors.New("full_name is not owner/name")
	case out.DefaultBranch == "" || len(out.DefaultBranch) > 250:
		return out, errors.New("default_branch is no name")
	}
	return out, nil
}
