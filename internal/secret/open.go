package secret

// Open gives the text of the secret. Every use of a key passes here.
func (v Value) Open() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}
