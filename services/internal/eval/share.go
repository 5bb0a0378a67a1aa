package eval

import (
	"encoding/json"
	"fmt"
	"math"
)

// normal95 is the quantile of the normal distribution for a two-sided interval of 95 %.
const normal95 = 1.96

// Share is how many of some cases have a property. In JSON it has its Wilson interval.
type Share struct{ N, Of int }

// Count adds a case.
func (s *Share) Count(hit bool) {
	s.Of++
	if hit {
		s.N++
	}
}

// Interval returns the 95 % Wilson score interval: 0 to 1 without cases.
func (s Share) Interval() (low, high float64) {
	if s.Of == 0 {
		return 0, 1
	}
	n, p := float64(s.Of), float64(s.N)/float64(s.Of)
	const z2 = normal95 * normal95
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := normal95 * math.Sqrt(p*(1-p)/n+z2/(4*n*n)) / (1 + z2/n)
	return max(0, middle-half), min(1, middle+half)
}

// String returns the share and its interval in per cent, or a dash without cases.
func (s Share) String() string {
	if s.Of == 0 {
		return "-"
	}
	low, high := s.Interval()
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*float64(s.N)/float64(s.Of), 100*low, 100*high)
}

// MarshalJSON implements json.Marshaler.
func (s Share) MarshalJSON() ([]byte, error) {
	low, high := s.Interval()
	return json.Marshal(shareJSON{s.N, s.Of, low, high})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Share) UnmarshalJSON(b []byte) error {
	var j shareJSON
	err := json.Unmarshal(b, &j)
	s.N, s.Of = j.N, j.Of
	return err
}

type shareJSON struct {
	N    int     `json:"n"`
	Of   int     `json:"of"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
