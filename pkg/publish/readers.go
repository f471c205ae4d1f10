package publish

import (
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
)

// Readers gives the directory of socket and file to those who may read them: the members of a
// group, by name or number, or with "" root alone. The group gets no more than to pass through: the
// control socket and the locks beside them are 0600. A group that is not there is a warning, and
// nobody's.
func Readers(opt host.Options, group string, log *zap.Logger) (gid int) {
	w, err := host.OpenFileWriter(opt)
	if err != nil {
		log.Warn("the status is for root alone", zap.Error(err))
		return -1
	}
	defer w.Close() // what was written was checked where it was made
	gid = -1
	if group != "" {
		if gid, err = w.Group(group); err != nil {
			log.Warn("the status is for root alone: there is no statusGroup of that name",
				zap.String("statusGroup", group), zap.Error(err))
			gid = -1
		}
	}
	if err := w.MakeDirFor(Dir, gid); err != nil {
		log.Warn("the status may not be readable", zap.Error(err))
	}
	return gid
}

// ReadBy is the group that may read a node's status, by name; "": root alone may, or it cannot be
// seen.
func ReadBy(opt host.Options) string {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return ""
	}
	defer files.Close() // only read from
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
