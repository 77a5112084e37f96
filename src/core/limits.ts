/** Every limit of the system, with its unit in the name and its reason in a comment. */

// --- requests and resources ---

/** Larger bodies are refused before they are read to the end. */
export const requestBodyBytesMax = 1024 * 1024
/** All rules of an IP policy in one request: 100,000 of about 160 bytes each. */
export const rulesBodyBytesMax = 16 * 1024 * 1024
/** A stored resource; its projected value must fit a NATS message with room to spare. */
export const resourceBytesMax = 256 * 1024
/** A request line and headers: the longest expression with each byte percent-encoded, and Node's default for the rest. */
export const requestHeadBytesMax = 64 * 1024
/** Faults of a list's entries that an error names, a sentence each. */
export const entryFaultsMax = 100
export const accountNameBytesMax = 255
export const descriptionBytesMax = 255
export const metadataBytesMax = 4096
export const policiesPerDirectionMax = 20
export const expressionsPerPolicyMax = 10
export const actionsPerPolicyMax = 5
/** All expressions of one traffic policy module together. */
export const expressionsPerModuleBytesMax = 64 * 1024
export const logMetadataBytesMax = 4096
export const policyNameBytesMax = 255
export const rulesPerIpPolicyMax = 100_000
export const ipPoliciesPerModuleMax = 50
export const hostportsPerEdgeMax = 100
/** A host name has at most 253 characters; the rest of a hostport is short. */
export const hostportCharsMax = 300
export const sourcesPerSubscriptionMax = 50
export const destinationsPerSubscriptionMax = 20
export const urlsPerReportMax = 100
/** The length that RFC 9110 recommends to support: https://www.rfc-editor.org/rfc/rfc9110#section-4.1-5 */
export const urlBytesMax = 8000
export const principalsPerCertificateMax = 100
/** A host name has at most 253 (RFC 1035, section 2.3.4), a user name usually 32. */
export const principalBytesMax = 255
/** The longest line that sshd(8) guarantees to read. */
export const sshPublicKeyCharsMax = 8192
/** Shorter keys can be factored (NIST SP 800-131A); OpenSSH refuses longer ones (SSHBUF_MAX_BIGNUM). */
export const sshRsaBitsMin = 2048
export const sshRsaBitsMax = 16_384
/** Key pairs generated at once: an RSA key keeps a core busy for seconds, and file writes share its thread pool. */
export const keyPairsAtOnceMax = 2
export const keyPairsWaitingMax = 32
export const aclRulesMax = 100
/** Attempts to draw an unused value. Failing this often means the space is nearly exhausted. */
export const drawsMax = 100
/** A certificate chain as PEM text: ten certificates, some with a hundred names. */
export const certificatePemBytesMax = 64 * 1024
/** No public authority issues longer chains, and TLS clients don't follow them. */
export const certificatesPerChainMax = 10
/** An RSA key of 8,192 bits takes 6.4 KiB. */
export const privateKeyPemBytesMax = 16 * 1024
/** TLS libraries refuse shorter keys (OpenSSL security level 2); longer ones make each handshake slow. */
export const rsaCertificateKeyBitsMin = 2048
export const rsaCertificateKeyBitsMax = 8192
export const labelsMax = 100
export const labelBytesMax = 255
export const pageEntriesMax = 100
export const idempotencyKeyCharsMax = 255
/** Evaluation steps of a list filter per entry: half a millisecond. */
export const listFilterStepsMax = 10_000
/** Lists searched concurrently; each takes slices of the event loop that requests wait for. */
export const listSearchesAtOnceMax = 2
export const listSearchesWaitingMax = 64
/** Changes that a filtered page of the history looks at, all together and in one statement. */
export const changesSearchedMax = 10_000
export const changesReadAtOnce = 1_000
/** A page of the history ends after this many bytes of JSON, or changed rules to count, whichever is first. */
export const changesPageBytesMax = 2 * 1024 * 1024
export const changedRulesPerPageMax = 200_000
/** Pages of the history read concurrently: each is several statements. */
export const changeSearchesAtOnceMax = 2
export const changeSearchesWaitingMax = 64
/** Changes that the command line reports at once, and their bytes of JSON. */
export const changesReportedMax = 1_000
export const changesReportBytesMax = 16 * 1024 * 1024
/** Deeper JSON is refused before any parser recurses into it. */
export const jsonNestingMax = 64
export const tokenCharsMin = 16
export const tokenCharsMax = 128
/** Failed logins per address and minute, over all API processes. Further ones get 429, neither counted nor logged. */
export const failedLoginsPerMinuteMax = 30

// --- store and projection ---

/**
 * Rules of one IP policy that share a key of the bucket: a change rewrites one such chunk. A rule has at most 4.3 KiB
 * of text, 26 KiB if JSON escapes all of it, and a chunk must fit a NATS message of 1 MiB.
 */
export const rulesPerChunkMax = 32
/** Rules staged but not committed within this time were left by a dead process. */
export const stagingAbandonedAfterMs = 10 * 60_000
/** Ids of recent changes kept in a head, so that a writer that missed the answer can find its own change. */
export const recentChangesMax = 32
/** Repeated requests with the same idempotency key get the first answer for this long: 24 h. */
export const answerAgeMaxMs = 24 * 60 * 60_000
/** Unfinished changes of other processes that are finished concurrently. */
export const headsAtOnceMax = 8
/** Keys of a bucket written concurrently. */
export const keysAtOnceMax = 64
/** Messages of a stream removed concurrently, and in one pass before the stream is checked again. */
export const removalsAtOnceMax = 64
export const removalsPerPassMax = 10_000
/** Audit events of rules per message, and the bytes of their rules. With 2 KiB of overhead each, they fit 1 MiB. */
export const ruleEventsPerMessage = 250
export const ruleBytesPerMessage = 256 * 1024

/** Changes that arrive within this time are compiled together; a change must take effect within 2 s. */
export const changeCoalesceMs = 200

// --- records ---

export const recordBytesMax = 64 * 1024
export const recordIdCharsMax = 128
/** Part of the server's payload limit that stays free for headers. */
export const payloadHeadroomBytes = 64 * 1024

// --- evaluation ---

/** Records processed before yielding to the event loop: about a millisecond. */
export const recordsPerTurnMax = 64
/** A view of the configuration is built in slices of this length, so that records wait no longer. */
export const buildSliceMs = 5
/** Selections of fields and filters that subscriptions share, cached per kind; lists of IP policies that edges share. */
export const compiledOnceMax = 1000
/** Accounts whose compiled policies the API keeps; the one that asked longest ago is dropped for another. */
export const policySetsKeptMax = 32
/** Rows of the past read for one explanation: two policies of the largest size. */
export const pastRowsMax = 200_000
/** Explanations of the past under way at the same time, and waiting. */
export const pastExplanationsAtOnceMax = 2
export const pastExplanationsWaitingMax = 20
/** Rules listed in the explanation of a decision; the reply must fit a NATS message. */
export const explainedRulesMax = 1000
/** All descriptions of rules in one explanation, as JSON. */
export const explainedDescriptionCharsMax = 256 * 1024
/** A value in the explanation of a decision. */
export const explainedValueCharsMax = 256

// --- pipeline ---

/** Shares of the records stream's limit at which removal of the oldest processed records starts and stops. */
export const removalStartShare = 0.8
export const removalStopShare = 0.6
/** A pack below its consumer's ack floor for this long was left over by a killed server. */
export const leftoverPackAfterMs = 60_000
/** After this time a missing destination counts as deleted, and its packs are swept. */
export const destinationGoneAfterMs = 60 * 60_000

/** Messages of records prefetched ahead of the walk; their size and the time they take, estimated from recent ones. */
export const prefetchMessagesMax = 256
export const prefetchBytesTarget = 16 * 1024 * 1024
export const prefetchMsTarget = 100
/** A new account reaches every pipeline within this time; one still unknown after it does not exist. */
export const accountPropagationMs = 5_000
/** A message delivered this often without being acknowledged is tried record by record in the quarantine process. */
export const deliveriesBeforeQuarantine = 3

/** The report of records that no edge serves: endpoints counted, characters per name, and endpoints listed. */
export const unservedEndpointsMax = 100
export const unservedEndpointCharsMax = 100
export const unservedEndpointsListed = 5

// --- packs and delivery ---

/** A pack is stored when it has this many bytes … */
export const packBytesTarget = 256 * 1024
/** … or is this old, whichever is first: few packs per second, however many destinations a message is for. */
export const packAgeMaxMs = 400
/** Bytes in all unfinished packs together; pulling pauses beyond it. */
export const packsBufferedBytesMax = 64 * 1024 * 1024
/** Packs of one destination in flight in one process; and their events, but for those of the last pack. */
export const packsInFlightMax = 16
export const eventsInFlightMax = 8_000
/** Bytes of events, as JSON, of all destinations in flight in one process; fetching pauses beyond it. */
export const packsInFlightBytesMax = 64 * 1024 * 1024
/** States of destinations in one answer of a deliverer, of about 150 bytes each: it must fit a message of NATS. */
export const statesReportedMax = 5_000
/** Lower bound of the request size settings; a larger event gets a request of its own. */
export const requestBytesMin = 64 * 1024

// --- the decision log ---

/** Rows are published when there are this many, or this many bytes of texts, or when the first is this old. */
export const decisionBatchRows = 4096
export const decisionBatchBytes = 256 * 1024
export const decisionBatchAgeMaxMs = 250
/** Batches that NATS has not acknowledged; rows of further ones are lost. */
export const decisionBatchesInFlightMax = 20
/** Rows are inserted when there are this many bytes of them, or when the first is this old. */
export const decisionInsertBytes = 16 * 1024 * 1024
export const decisionInsertAgeMaxMs = 1_000
/** A small insert costs ClickHouse as much as thousands of rows: the pause after one is this many times as long … */
export const decisionInsertPauseFactor = 100
/** … but no longer than this. */
export const decisionInsertPauseMaxMs = 5_000
/** Searches of the log run concurrently; each may keep the disk and the cores busy for seconds. */
export const logSearchesAtOnceMax = 2
export const logSearchesWaitingMax = 64
/** A value to search the log for: the name of a policy is the longest. */
export const logFilterCharsMax = 255
/** Decisions in one answer as NDJSON or CSV, and how long a client may take for it. */
export const decisionsExportedMax = 100_000
export const exportMsMax = 60_000
/** How many publications of one record an answer shows in full: each is read and judged again. */
export const publicationsTracedMax = 5
/** Intervals, and edges, policies or countries, in one answer with sums: 20,000 entries at most. */
export const statsIntervalsMax = 1_000
export const statsValuesMax = 20
/** Messages requested at once: together about as many bytes. */
export const decisionInsertMessages = 40

// --- those who watch ---

/** Pipelines and deliverers forget what the API has not named as watched for this long. */
export const watchedForMs = 6_000
/** Accounts or destinations that count as watched at once; they are named again within two seconds. */
export const watchedAtOnceMax = 1_000
/** Watchers of one account, and of one API process. */
export const watchersPerAccountMax = 10
export const watchersMax = 100
/** Lines a watcher is sent in a second; of more, a sample. */
export const watchedLinesPerSecondMax = 200
/** Bytes of events in a message about a delivery; it must fit a NATS message. */
export const watchedDeliveryBytesMax = 256 * 1024
/** Bytes of a dead letter that a watcher is shown. */
export const watchedDeadLetterBytesMax = 1_024
/** Bytes that a slow watcher has not read; lines beyond them are lost for it. */
export const watcherBufferBytesMax = 256 * 1024

// --- replays ---

/**
 * A pipeline may evaluate records without a new subscription for so long. A lost watch of the configuration is noticed
 * within 20 s and resumed.
 */
export const replaySeamMs = 30_000
/** Replays of a deployment that run at the same time. */
export const replaysAtOnceMax = 20
/** A replay can be looked up for so long. */
export const replayAgeMaxMs = 7 * 24 * 60 * 60_000
export const replaysBytesMax = 8 * 1024 * 1024
/** Destinations that are behind: some thousands of them. */
export const behindBytesMax = 8 * 1024 * 1024

// --- trials ---

/** A trial ends after this many records, bytes or milliseconds, other accounts' records included. */
export const trialRecordsMax = 50_000_000
export const trialBytesMax = 16 * 1024 ** 3
export const trialMsMax = 5 * 60_000
/** A trial that has not ended after this much more time is stopped from outside. */
export const trialGraceMs = 60_000
/** How much recorded traffic a trial reads if the request does not say it. */
export const trialSinceMsDefault = 60 * 60_000
/** Trials at the same time in one API process. An account has one at a time in the whole deployment. */
export const trialsAtOnceMax = 3
/** A trial reports its progress this often; one that is silent for longer than the last has lost its process. */
export const trialProgressMs = 500
export const trialSilentMs = 30_000
/** Results are kept for this long. */
export const trialAgeMaxMs = 60 * 60_000
/** The bucket of results; the oldest ones make room. */
export const trialsBytesMax = 32 * 1024 * 1024
/** A result as JSON; it has fewer examples if they are too long. */
export const trialResultBytesMax = 256 * 1024
export const trialExamplesMax = 10
/** Clients, countries and edges that are listed, and how many are counted: rare ones share the places. */
export const trialTopListed = 10
export const trialTopCounted = 500
/** Rules listed in the explanation of an example. */
export const trialExplainedRulesMax = 20
/** Rules passed to the process of a trial in one message. */
export const trialRulesAtOnce = 2_000
/** Messages of records requested at once. */
export const trialMessagesAtOnce = 32

// --- expr ---

/** UTF-8 bytes of one expression. */
export const exprBytesMax = 16 * 1024
/** Characters of an expression that fit a request line whatever they are: one takes up to 4 bytes, each percent-encoded. */
export const queryExprCharsMax = exprBytesMax / 4
export const exprTokensMax = 4096
/** Nesting of brackets and `? :`; jexl's parser takes a level of recursion and a walk for each. */
export const exprNestingMax = 32
/** UTF-8 bytes of a text that a function or operator returns. */
export const exprStringBytesMax = 64 * 1024
/** Text passed to `matches`: linear time is not bounded time. */
export const exprMatchTextBytesMax = 1024
export const exprPatternCharsMax = 1024
/** Instructions of a compiled pattern; a repetition such as `x{1000}` takes one per iteration. */
export const exprPatternInstructionsMax = 500
/** Patterns in one expression: each may take about 4 ms to compile, and views are built between records. */
export const exprPatternsMax = 20
/** Steps for all expressions of one record, about 50 ns each: 5 ms, and 100 ms with the worst patterns. */
export const exprStepsMax = 100_000
