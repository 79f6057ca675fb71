from ophook_npu.cli import main

if __name__ == "__main__":
    main()
