package checkpoint

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	hostsystemd "github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/systemd"
)

// The unit that runs the undo at the next boot, before any program reads what was changed.
const (
	bootUnit     = "netwright-undo.service"
	bootUnitFile = hostsystemd.AdminUnitDir + "/" + bootUnit
	wantsDir     = hostsystemd.AdminUnitDir + "/sysinit.target.wants"
	bootLink     = wantsDir + "/" + bootUnit
)

// Around are the directories, besides its own, in which a checkpoint creates and removes files.
var Around = []string{path.Dir(bootUnitFile), wantsDir}

// missing records which parts of the boot unit the host does not have.
func (s *scaffold) missing(h *host.Host) {
	if h.Live.Facts.Init != "systemd" {
		return
	}
	s.BootUnit = unitFile(h) == ""
	_, err := h.Live.Files.Lstat(bootLink)
	s.BootLink = errors.Is(err, host.ErrNotExist)
	_, err = h.Live.Files.Lstat(wantsDir)
	s.HadWants = !errors.Is(err, host.ErrNotExist)
}

// unitFile returns the path of the unit, or "".
func unitFile(h *host.Host) string {
	for _, dir := range hostsystemd.InstalledUnitDirs {
		file := path.Join(dir, bootUnit)
		if _, err := h.Live.Files.Lstat(file); err == nil {
			return file
		}
	}
	return ""
}

// wantBootUnit makes sure that the next boot runs the undo. The links are read at boot, so the
// running systemd need not reload.
func (s scaffold) wantBootUnit(ctx context.Context, h *host.Host) error {
	if s.BootUnit {
		if err := h.Files.WriteFile(ctx, bootUnitFile, []byte(bootText(h)), hostfs.FileSpec{Mode: 0o644}); err != nil {
			return err
		}
	}
	if s.BootLink {
		return h.Files.Symlink(bootLink, unitFile(h))
	}
	return nil
}

// installedProgram returns the program that runs the undo if the copy cannot be run. The host's
// unit names it, because `agent install` may have installed it below another prefix.
func installedProgram(h *host.Host) string {
	if file := unitFile(h); file != "" {
		if text, err := h.Live.Files.ReadFile(file); err == nil {
			if program := systemd.ProgramOf(string(text)); program != "" && program != binaryFile {
				return program
			}
		}
	}
	return systemd.Program
}

// bootText returns the text of the unit for a host that has none. If no program is installed, the
// unit only runs the copy.
func bootText(h *host.Host) string {
	if _, err := h.Live.Files.Lstat(systemd.Program); !errors.Is(err, host.ErrNotExist) {
		return systemd.Undo
	}
	return strings.NewReplacer("ExecStart=-", "ExecStart=",
		"ExecStart="+systemd.Program+" undo\n", "").Replace(systemd.Undo)
}

// dropBootUnit removes what wantBootUnit created.
func (s scaffold) dropBootUnit(h *host.Host) error {
	var errs []error
	if s.BootLink {
		errs = append(errs, h.Files.Remove(bootLink))
	}
	if s.BootLink && !s.HadWants {
		if names, err := h.Live.Files.ReadDir(wantsDir); err == nil && len(names) == 0 {
			errs = append(errs, h.Files.Remove(wantsDir))
		}
	}
	if s.BootUnit {
		errs = append(errs, h.Files.Remove(bootUnitFile))
	}
	return errors.Join(errs...)
}
