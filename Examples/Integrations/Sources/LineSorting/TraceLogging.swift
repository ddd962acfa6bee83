public import Logging
import Tracing

extension Logger.MetadataProvider {
    /// The trace that the code works for, in each line of a log.
    public static let trace = Logger.MetadataProvider {
        guard let parent = ServiceContext.current?.traceParent else { return [:] }
        return ["trace": "\(parent.traceID)"]
    }
}
