/**
 * For tests of desks and workers: fakes with canned answers, outages by time, a clock that goes on, and a suite that any
 * worker has to pass.
 *
 * @since 0.1.0
 */
export * as Fake from "./Fake.ts"
export * as Outage from "./Outage.ts"
export * as VirtualTime from "./VirtualTime.ts"
export * as WorkerSuite from "./WorkerSuite.ts"
