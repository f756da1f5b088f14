package audit

// OS is the file system of the operating system, for those who wrap it.
func OS() FS { return osFS{} }
