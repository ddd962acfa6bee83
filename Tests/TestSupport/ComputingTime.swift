import Foundation

/// The time the calling thread has computed: other tests run beside this one, and wait for it or it for them.
package func computingTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
