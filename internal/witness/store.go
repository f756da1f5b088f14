package witness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is the name of the file in the data directory.
const file = "witness.json"

// kept is its content.
type kept struct {
	Settings []Setting        `json:"settings"`
	States   map[string]State `json:"states"`
	Past     []string         `json:"past,omitempty"` // origins of logs that a person has ended
}

func load(data string) (kept, error) {
	k := kept{States: map[string]State{}}
	raw, err := os.ReadFile(filepath.Join(data, file))
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err != nil {
		return k, fmt.Errorf("witness: read %s: %w: restore it from a backup; without it this host knows of no witness", filepath.Join(data, file), err)
	}
	if k.States == nil {
		k.States = map[string]State{}
	}
	return k, nil
}

// save replaces the file in one step and makes it durable.
func (k kept) save(data string) error {
	raw, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(data, file+".*")
	if err != nil {
		return fmt.Errorf("witness: keep what was seen: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(data, file))
	}
	if err == nil {
		err = syncDir(data)
	}
	if err != nil {
		return fmt.Errorf("witness: keep what was seen: %w", err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
