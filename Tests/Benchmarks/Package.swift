// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "DistantBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "DistantObjects", path: "../..")
    ],
    targets: [
        .target(name: "CFloor"),
        .executableTarget(
            name: "distant-bench",
            dependencies: ["CFloor", .product(name: "DistantObjects", package: "DistantObjects")],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
