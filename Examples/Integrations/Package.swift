// swift-tools-version: 6.3
import PackageDescription

// Warnings of the other packages stay what they are.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let distantObjects = Target.Dependency.product(name: "DistantObjects", package: "DistantObjects")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "DistantIntegrations",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "DistantObjects", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "Integrations",
            dependencies: [distantObjects, logging, metrics, tracing, lifecycle, subprocess, arguments],
            swiftSettings: settings),
        .target(name: "LineSorting", dependencies: [distantObjects, logging, tracing], swiftSettings: settings),
        .executableTarget(
            name: "line-sorter-worker",
            dependencies: ["Integrations", "LineSorting", distantObjects, logging, tracing],
            swiftSettings: settings),
        .executableTarget(
            name: "line-sorter",
            dependencies: [
                "Integrations", "LineSorting", "line-sorter-worker", distantObjects, logging, metrics, tracing,
                lifecycle,
                signals, subprocess, arguments,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "IntegrationsTests",
            dependencies: [
                "Integrations", "LineSorting", "line-sorter", "line-sorter-worker", distantObjects, logging, metrics,
                tracing, lifecycle, subprocess, arguments,
                .product(name: "DistantTesting", package: "DistantObjects"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
