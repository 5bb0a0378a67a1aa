package classifier

import (
	"bytes"
	_ "embed" // the fitted weights
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
	names       []string
	chain       *chain
	calibration calibration
	published   keywords // while it is fitted
	without     []string // kinds of features, in an ablation
}

// header is the first line of a model file. After it come the weights, a signed byte each: those of each label, then
// those of each kind of change.
type header struct {
	Names       []string    `json:"names"`
	Scales      []float64   `json:"scales"` // of a byte, by row
	Pair        [][]float32 `json:"pair"`
	Calibration calibration `json:"calibration"`
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
	h := header{Names: m.names, Pair: m.chain.pair, Calibration: m.calibration}
	var body []byte
	for _, row := range m.rows() {
		var top float64
		for _, w := range row {
			top = max(top, math.Abs(float64(w)))
		}
		scale := max(top, 1e-9) / math.MaxInt8
		h.Scales = append(h.Scales, scale)
		for _, w := range row {
			body = append(body, byte(int8(math.Round(float64(w)/scale))))
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
	m := &model{names: h.Names, chain: newChain(len(h.Names) + 1), calibration: h.Calibration}
	m.chain.pair = h.Pair
	for i, row := range m.rows() {
		if i >= len(h.Scales) || len(body) < len(row) {
			return nil, fmt.Errorf("weights: the file ends in row %d", i)
		}
		for k := range row {
			row[k] = float32(float64(int8(body[k])) * h.Scales[i])
		}
		body = body[len(row):]
	}
	return m, nil
}
