package classifier

import (
	"bytes"
	_ "embed" // the fitted weights
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

//go:generate go run ../../cmd/trainclassifier -o model.bin

//go:embed model.bin
var modelFile []byte

// model is a fitted chain with the names of its specialists.
type model struct {
	names     []string
	chain     *chain
	certainty certainty
	unseen    []sourceFigures // of models that were not fitted to the source
	published keywords        // while it is fitted
	without   []string        // kinds of features, in an ablation
}

// levels is how many weights of each sign a model file tells apart. A weight is scale*k*|k|, where k is -levels to levels: most weights are
// near zero. Three are packed into two bytes.
const levels = 15

// header is the first line of a model file. After it come the weights: those of each label, then those of each kind of change.
type header struct {
	Names     []string        `json:"names"`
	Scales    []float64       `json:"scales"` // by row
	Pair      [][]float32     `json:"pair"`
	Certainty certainty       `json:"certainty"`
	Unseen    []sourceFigures `json:"unseen"`
}

// fitted returns the model that is built in. It must not be modified.
var fitted = sync.OnceValue(func() *model {
	m, err := readModel(modelFile)
	if err != nil {
		panic(fmt.Sprintf("read built-in model of the classifier: %v", err))
	}
	return m
})

func (m *model) rows() [][]float32 { return append(slices.Clone(m.chain.clause), m.chain.edge[:]...) }

// encode writes a model file.
func (m *model) encode() []byte {
	h := header{Names: m.names, Pair: m.chain.pair, Certainty: m.certainty, Unseen: m.unseen}
	var body []byte
	for _, row := range m.rows() {
		var top float64
		for _, w := range row {
			top = max(top, math.Abs(float64(w)))
		}
		scale := max(top, 1e-9) / (levels * levels)
		h.Scales = append(h.Scales, scale)
		for three := range slices.Chunk(row, 3) {
			var packed uint16
			for i, w := range three {
				k := math.Copysign(math.Round(math.Sqrt(math.Abs(float64(w))/scale)), float64(w))
				packed |= uint16(k+levels) << (5 * i)
			}
			body = binary.LittleEndian.AppendUint16(body, packed)
		}
	}
	first, err := json.Marshal(h)
	if err != nil {
		panic(err) // names and numbers
	}
	return slices.Concat(first, []byte("\n"), body)
}

// readModel reads a model file.
func readModel(file []byte) (*model, error) {
	first, body, _ := bytes.Cut(file, []byte("\n"))
	var h header
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	m := &model{names: h.Names, chain: newChain(len(h.Names) + 1), certainty: h.Certainty, unseen: h.Unseen}
	m.chain.pair = h.Pair
	for i, row := range m.rows() {
		if size := (len(row) + 2) / 3 * 2; i >= len(h.Scales) || len(body) < size {
			return nil, fmt.Errorf("weights: the file ends in row %d", i)
		}
		for three := range slices.Chunk(row, 3) {
			packed := binary.LittleEndian.Uint16(body)
			for k := range three {
				x := float64(packed>>(5*k)&31) - levels
				three[k] = float32(x * math.Abs(x) * h.Scales[i])
			}
			body = body[2:]
		}
	}
	return m, nil
}
