// Package wrap adds to a model what a provider leaves out. Each function takes an [agentloop.Model] and returns one:
//
//   - [Silence] gives a call up when nothing comes of it for some time.
//   - [Retry] asks again when a call fails before it answers.
//   - [Fallback] asks the next model when one fails before it answers.
//   - [Reasoning] moves reasoning that a model writes into its answer to where reasoning belongs.
//   - [Record] and [Replay] keep the calls of a run, and play them back without a network.
//   - [Limit] holds models and runs to a shared [Budget] of tokens, money or both.
//
// # Order
//
// The usual order, from the provider to the loop:
//
//	m = wrap.Silence(m, time.Minute) // each attempt has a clock of its own
//	m = wrap.Record(m, sink)         // what the provider said, so that a replay goes through all the rest
//	m = wrap.Limit(m, budget, price) // each attempt is counted
//	m = wrap.Retry(m, ...)           // each model of a chain is tried again before the next one
//	m = wrap.Fallback(m, others...)
//	m = wrap.Reasoning(m, ...)       // once for all models of the chain
//	m = texttools.New(m)             // if the model has no tool calls of its own
//
// Any two may change places, with one exception. "A over B" is A(B(model)).
//
//	Retry over Fallback      the whole chain is tried again
//	Fallback over Retry      each model is tried again, then comes the next one
//	Retry over Silence       a silent attempt is followed by another one
//	Silence over Retry       one clock for all attempts, which the waits between them count for; silence ends the call
//	Fallback over Silence    a silent model gives way to the next one
//	Silence over Fallback    one clock for all models; silence ends the call
//	Reasoning, texttools     what they hold back of an answer is no silence
//	over Silence
//	Silence over Reasoning,  what they hold back is silence: a long tool call in text may be cut
//	texttools
//	Record over Silence      keeps that the model was silent: a replay tries again where the run did
//	Silence over Record      keeps that the call was cancelled, which a replay does not try again
//	Silence over or under    the same answers
//	Limit
//	Limit over Retry         one reservation for all attempts of a call
//	Retry over Limit         a reservation for each attempt; a refusal is never retried
//	Fallback over Limit      a model whose budget is used up gives way to the next one
//	Limit over Fallback      one reservation, whichever model answers
//	Record over the others   keeps what the loop saw: a replay skips the wrappers below
//	the others over Record   keeps what the provider said: a replay runs them again
//	Reasoning over Retry,    the same answers as the other way round; below Fallback each model has its own
//	Fallback, Limit, Record  ReasoningConfig
//	texttools over or under  the same answers; below Fallback it serves one model of several, beside others with tool calls
//	Retry, Fallback, Limit,  of their own
//	Record
//	texttools over Reasoning the only order of these two
//	Reasoning over texttools WRONG: a call that the model only thinks of would be run, and its thoughts cut apart
//
// [Replay] takes the place of a model, below any of them.
//
// All models here are safe for concurrent use, change no request, and keep nothing of a call after its sequence has ended,
// goroutines included, save what Record hands to its sink.
//
// The package must not import anything beyond the standard library and agentloop. What it needs to know of an error it
// asks the error: see [RetryHinter] and [BadRequester].
package wrap
