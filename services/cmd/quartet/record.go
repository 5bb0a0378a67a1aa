package main

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/suite"
)

// recordFlags say which turns are kept in bundles.
type recordFlags struct {
	redact bool
	dir    string
	keep   bundle.Keep
	stores map[string]bundle.Keep
	ttl    time.Duration
	stop   func() // ends the recording of spans; set by apply if turns are kept
}

func addRecordFlags(fs *flag.FlagSet) *recordFlags {
	f := &recordFlags{keep: bundle.Off, stores: make(map[string]bundle.Keep)}
	fs.Func("record", "keep turns for 'quartet replay': `[STORE=]MODE`, where MODE is off, failures, sample (one turn in 100) or all; may be repeated for stores (default off)",
		func(s string) error {
			store, mode, ofStore := strings.Cut(s, "=")
			if !ofStore {
				store, mode = "", s
			}
			keep := bundle.Keep(mode)
			switch {
			case !keep.Valid() || ofStore && store == "":
				return errors.New("must be off, failures, sample or all, or STORE= and one of these")
			case ofStore:
				f.stores[store] = keep
			default:
				f.keep = keep
			}
			return nil
		})
	fs.StringVar(&f.dir, "record-dir", "", "`folder` for kept turns, which all services share (default: they are kept in Redis); they hold what shoppers say, encrypted if --state-keys is given")
	fs.BoolVar(&f.redact, "record-redact", false, "replace e-mail addresses, phone numbers and card numbers in kept turns by others of the same form; names and postal addresses stay")
	fs.DurationVar(&f.ttl, "record-ttl", bundle.DefaultTTL, "how long turns are kept")
	return f
}

// wanted reports whether any turn is to be kept.
func (f *recordFlags) wanted() bool { return f.keep != bundle.Off || len(f.stores) > 0 }

// check finds what is wrong with the flags.
func (f *recordFlags) check() error {
	switch {
	case !f.wanted() && f.dir != "":
		return usagef("--record-dir needs --record")
	case f.ttl <= 0:
		return usagef("--record-ttl must be more than nothing")
	}
	return nil
}

// apply sets the tape of a suite that has its models, and its Redis unless there is a folder.
func (f *recordFlags) apply(cfg *suite.Config) error {
	if err := f.check(); err != nil || !f.wanted() {
		return err
	}
	storage, err := recordStorage(f.dir, cfg.Redis, f.ttl, cfg.Logger)
	if err != nil {
		return err
	}
	settings := cfg.TapeSettings()
	settings.Version = version()
	recorder := bundle.NewRecorder(bundle.Config{
		Storage: storage, Keep: f.keep, Stores: f.stores, Sealer: cfg.Sealer, Redact: f.redact, Settings: settings, Logger: cfg.Logger,
	})
	cfg.Tape, f.stop = recorder, recorder.Watch()
	return nil
}

// recordStorage returns where turns are kept: in a folder, or in Redis if it is "".
func recordStorage(dir string, client redis.UniversalClient, ttl time.Duration, logger *slog.Logger) (bundle.Storage, error) {
	if dir == "" {
		return bundle.NewRedis(client, ttl), nil
	}
	return bundle.NewFolder(dir, ttl, logger)
}
