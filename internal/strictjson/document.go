package strictjson

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// Document is a value of a checked body.
type Document struct{ value gjson.Result }

// Exists says whether there is a value, which null is.
func (d Document) Exists() bool { return d.value.Exists() }

// IsNull says whether the value is null.
func (d Document) IsNull() bool { return d.value.Exists() && d.value.Type == gjson.Null }

// IsObject says whether the value is an object.
func (d Document) IsObject() bool { return d.value.IsObject() }

// IsArray says whether the value is an array.
func (d Document) IsArray() bool { return d.value.IsArray() }

// Raw is the value as it stands in the body.
func (d Document) Raw() string { return d.value.Raw }

// Text is the value if it is a string.
func (d Document) Text() (string, bool) { return d.value.Str, d.value.Type == gjson.String }

// Bool is the value if it is true or false.
func (d Document) Bool() (value, ok bool) { return d.value.Type == gjson.True, d.value.IsBool() }

// Number is the value if it is a number, as the nearest float.
func (d Document) Number() (float64, bool) { return d.value.Num, d.value.Type == gjson.Number }

// Field returns the value of a key, absent if the object has none. A key that
// differs in case only is an error.
func (d Document) Field(name string) (Document, error) {
	if !d.IsObject() {
		return Document{}, fmt.Errorf("%w: %q asked of what is no object", ErrType, name)
	}
	var found Document
	var err error
	folded := Fold(name)
	d.value.ForEach(func(key, value gjson.Result) bool {
		switch got := key.String(); {
		case got == name:
			found = Document{value}
			return false
		case Fold(got) == folded:
			err = fmt.Errorf("%w: write %q in exactly this case", ErrKey, name)
		}
		return err == nil
	})
	return found, err
}

// String returns the text of a key, empty if there is none or it is null. Any
// other type is an error.
func (d Document) String(name string) (string, error) {
	f, err := d.Field(name)
	if err != nil || !f.Exists() || f.IsNull() {
		return "", err
	}
	s, ok := f.Text()
	if !ok {
		return "", fmt.Errorf("%w: %q must be a string", ErrType, name)
	}
	return s, nil
}

// Only refuses an object that has a key beside those named.
func (d Document) Only(names ...string) error {
	if !d.IsObject() {
		return fmt.Errorf("%w: not an object", ErrType)
	}
	var err error
	d.value.ForEach(func(key, _ gjson.Result) bool {
		if name := key.String(); !slices.Contains(names, name) {
			err = fmt.Errorf("%w: %.64q is not known here", ErrKey, name)
		}
		return err == nil
	})
	return err
}

// Each visits the entries of an object, or the elements of an array with an
// empty key, until visit returns false.
func (d Document) Each(visit func(key string, value Document) bool) {
	d.value.ForEach(func(key, value gjson.Result) bool {
		name := ""
		if d.value.IsObject() {
			name = key.String()
		}
		return visit(name, Document{value})
	})
}
