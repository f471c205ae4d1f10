package publish

import (
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
)

// Readers opens the directory of the status socket and file to a group, by name or number; with ""
// only to root. The group may only enter the directory: the control socket and the locks in it are
// 0600. For an unknown group it logs a warning, and only root may read.
func Readers(opt host.Options, group string, log *zap.Logger) (gid int) {
	w, err := host.OpenFileWriter(opt)
	if err != nil {
		log.Warn("the status is for root alone", zap.Error(err))
		return -1
	}
	defer w.Close() // MakeDirFor has checked its work
	gid = -1
	if group != "" {
		if gid, err = w.Group(group); err != nil {
			log.Warn("only root can read the status: this host has no group of the name that statusGroup has",
				zap.String("statusGroup", group), zap.Error(err))
			gid = -1
		}
	}
	if err := w.MakeDirFor(Dir, gid); err != nil {
		log.Warn("the status may not be readable", zap.Error(err))
	}
	return gid
}

// ReadBy returns the name of the group that may read a node's status; "": only root may, or the
// group cannot be read.
func ReadBy(opt host.Options) string {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return ""
	}
	defer files.Close() // it is only read
	info, err := files.Lstat(Dir)
	if err != nil || info.Mode&0o010 == 0 {
		return ""
	}
	groups, err := files.ReadFile("/etc/group")
	if err != nil {
		return ""
	}
	for entry := range strings.Lines(string(groups)) {
		if e := strings.Split(entry, ":"); len(e) > 2 && e[2] == strconv.Itoa(info.GID) {
			return e[0]
		}
	}
	return ""
}
