package bench

import (
	"container/heap"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

// Times of a turn in seconds, as docs/scale.md and docs/benchmarks.md have them. The time of a model call is assumed.
const (
	podTime   = 6e-3   // processor, on a busy machine
	redisTime = .56e-3 // Redis's processor
	callTime  = 1.0
	steps     = PathCalls + 1 // before, between and after the calls of the critical path
)

// simulation is a discrete-event simulation of turns over single-core pods and Redis shards, each of which serves one step at a time,
// in order. A turn alternates between steps and model calls; it takes a random pod for each step, and one shard for its thread.
// Times between turns and times of steps are exponentially distributed.
type simulation struct {
	rate         float64 // turns a second
	pods, shards int
}

// figures are of the turns that begin neither before the first have ended nor in the last seconds.
type figures struct {
	inFlight           int     // at most
	p50, p99           float64 // added to the model calls, in seconds
	busyPod, busyShard float64 // shares of the time, of the busiest
}

// event is the arrival of a turn at a pod or a shard.
type event struct {
	at    float64
	turn  int
	step  int
	redis bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// server serves what comes to it one after the other.
type server struct{ free, busy float64 }

func (s *server) serve(at, takes float64) (end float64) {
	s.free = max(s.free, at) + takes
	s.busy += takes
	return s.free
}

// busiest returns the largest share of the duration of arrivals that a server took for them.
func busiest(servers []server, duration float64) (share float64) {
	for _, s := range servers {
		share = max(share, s.busy/duration)
	}
	return share
}

// run is the same for the same simulation.
func (s simulation) run() figures {
	const calls = PathCalls * callTime
	random := rand.New(rand.NewPCG(1, uint64(s.rate)))
	pods, shards := make([]server, s.pods), make([]server, s.shards)
	turns := max(20_000, int(s.rate*4*calls))
	begun, shard := make([]float64, turns), make([]int, turns)
	var f figures
	var queue events
	var added []float64
	inFlight, next := 0, 0
	arrive := func(at float64) {
		begun[next], shard[next] = at+random.ExpFloat64()/s.rate, random.IntN(s.shards)
		heap.Push(&queue, event{at: begun[next], turn: next})
		next++
	}
	for arrive(0); len(queue) > 0; {
		e := heap.Pop(&queue).(event)
		now := e.at
		switch {
		case e.step == steps:
			inFlight--
			if b := begun[e.turn]; b > calls && (next < turns || b < begun[turns-1]-calls) {
				added = append(added, now-begun[e.turn]-calls)
			}
		case e.redis:
			e.at = shards[shard[e.turn]].serve(now, random.ExpFloat64()*redisTime/steps)
			e.step, e.redis = e.step+1, false
			if e.step < steps {
				e.at += callTime
			}
			heap.Push(&queue, e)
		default:
			if e.step == 0 {
				inFlight++
				f.inFlight = max(f.inFlight, inFlight)
				if next < turns {
					arrive(now)
				}
			}
			e.at = pods[random.IntN(s.pods)].serve(now, random.ExpFloat64()*podTime/steps)
			e.redis = true
			heap.Push(&queue, e)
		}
	}
	slices.Sort(added)
	f.p50, f.p99 = added[len(added)/2], added[len(added)*99/100]
	f.busyPod, f.busyShard = busiest(pods, begun[turns-1]), busiest(shards, begun[turns-1])
	return f
}

// docs/scale.md has the rows that the simulation makes.
func TestSimulationOfScale(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	page, err := os.ReadFile("../../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []simulation{
		{rate: 10, pods: 2, shards: 1},
		{rate: 100, pods: 2, shards: 1},
		{rate: 1_000, pods: 10, shards: 1},
		{rate: 10_000, pods: 100, shards: 10},
		{rate: 10_000, pods: 65, shards: 10},
		{rate: 10_000, pods: 100, shards: 6},
	} {
		f := s.run()
		row := message.NewPrinter(language.English).Sprintf("|%.0f|%d|%d|%d|%.0f%%|%.0f%%|%.0f ms|%.0f ms|",
			s.rate, s.pods, s.shards, f.inFlight, 100*f.busyPod, 100*f.busyShard, 1e3*f.p50, 1e3*f.p99)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/scale.md has no row %s", row)
		}
	}
}

// One server with exponential times between arrivals and of services: a stay is exponential with the mean 1/(service rate - arrival
// rate). Steps come at the rate of turns times steps.
func TestSimulationAgreesWithTheFormulaOfAQueue(t *testing.T) {
	f := simulation{rate: 100, pods: 1, shards: 1}.run()
	mean := 1/(steps/podTime-100*steps) + 1/(steps/redisTime-100*steps)
	if want := steps * mean; f.p50 < .8*want || f.p50 > 1.1*want {
		t.Errorf("the median turn took %.4f s more than its calls, the formula's mean is %.4f s", f.p50, want)
	}
}
