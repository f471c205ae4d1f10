package main

import (
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/publish"
)

// logger is the log of what a daemon, or what systemd starts beside it, does: a line for each
// change. Without a format it goes to journald with its fields where stderr is the journal, and
// else to stderr as text.
func (f *flags) logger(s streams, level zapcore.Level) *zap.Logger {
	text := zapcore.EncoderConfig{
		MessageKey: "msg", LevelKey: "level", LineEnding: "\n", ConsoleSeparator: " ",
		EncodeLevel: zapcore.LowercaseLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime: zapcore.RFC3339NanoTimeEncoder,
	}
	if f.logFormat == agentfile.LogJSON {
		text.TimeKey = "time"
		return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(text), zapcore.AddSync(s.err), level))
	}
	stream, isFile := s.err.(*os.File)
	journal := isFile && publish.ToJournal(stream, os.Getenv("JOURNAL_STREAM"))
	if !journal { // that has times of its own
		text.TimeKey = "time"
	}
	lines := zapcore.NewCore(zapcore.NewConsoleEncoder(text), zapcore.AddSync(s.err), level)
	if f.logFormat == agentfile.LogText || !journal {
		return zap.New(lines)
	}
	text.LevelKey = ""
	core, err := publish.NewJournal(level, zapcore.NewConsoleEncoder(text), lines)
	if err != nil { // as text, then
		return zap.New(lines)
	}
	return zap.New(core)
}
