package git

import (
	"context"
	"fmt"
	"strings"
)

// maxRemotes bounds how many URLs Remotes returns.
const maxRemotes = 100

// Remotes returns the URLs of the repository's remotes as its own configuration
// file spells them: nothing is included, rewritten or asked for. A repository
// without remotes has none, which is no error.
func (s *Source) Remotes(ctx context.Context) ([]string, error) {
	out, err := s.common.output(ctx, nil, "config", "--file", "config", "--no-includes", "--null", "--get-regexp", `^remote\..*\.url$`)
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("git: remotes of %s: %w", s.info.Path, err)
	}
	var urls []string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if _, url, ok := strings.Cut(entry, "\n"); ok && url != "" && len(urls) < maxRemotes {
			urls = append(urls, url)
		}
	}
	return urls, nil
}
